import unittest
from datetime import datetime

from almanac.billing import next_bill


class NextBill(unittest.TestCase):
    def test_the_hour_of_the_last_bill_is_kept(self):
        self.assertEqual(next_bill(datetime(2025, 3, 14, 9, 30), 1), datetime(2025, 4, 14, 9, 30))


if __name__ == "__main__":
    unittest.main()
