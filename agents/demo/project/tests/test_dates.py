import unittest
from datetime import date

from almanac.dates import add_months, period_end


class AddMonths(unittest.TestCase):
    def test_a_month_later_is_the_same_day(self):
        self.assertEqual(add_months(date(2025, 3, 14), 1), date(2025, 4, 14))

    def test_a_year_goes_by(self):
        self.assertEqual(add_months(date(2025, 3, 14), 12), date(2026, 3, 14))

    def test_december_is_the_last_month(self):
        self.assertEqual(add_months(date(2025, 11, 30), 1), date(2025, 12, 30))

    def test_the_31st_becomes_the_last_day_of_a_shorter_month(self):
        self.assertEqual(add_months(date(2025, 1, 31), 1), date(2025, 2, 28))

    def test_a_leap_february_has_29_days(self):
        self.assertEqual(add_months(date(2024, 1, 31), 1), date(2024, 2, 29))


class PeriodEnd(unittest.TestCase):
    def test_a_term_ends_the_day_before(self):
        self.assertEqual(period_end(date(2025, 5, 1), 3), date(2025, 7, 31))


if __name__ == "__main__":
    unittest.main()
