"""Tricks and honest work in projects of Java (JUnit, Maven) and Ruby (rspec, minitest)."""

from tests.tampering.changing import Edit, Write, honest, trick
from workspaces.integrity.findings import FindingKind as Kind

VERIFY = ("mvn -q test", "bundle exec rspec")
FILES = {
    "pom.xml": """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.example</groupId>
  <artifactId>shop</artifactId>
  <version>1</version>
  <dependencies>
    <dependency><groupId>org.junit.jupiter</groupId><artifactId>junit-jupiter</artifactId><version>5.11.0</version></dependency>
  </dependencies>
</project>
""",
    "src/main/java/shop/Price.java": "package shop;\n\nclass Price {\n    static int total(int... all) { return java.util.Arrays.stream(all).sum(); }\n}\n",
    "src/test/java/shop/PriceTest.java": """\
package shop;

import static org.junit.jupiter.api.Assertions.*;
import org.junit.jupiter.api.Test;

class PriceTest {
    @Test
    void adds() {
        assertEquals(3, Price.total(1, 2));
    }

    @Test
    void nothing() {
        assertEquals(0, Price.total());
    }
}
""",
    "lib/price.rb": "def total(prices) = prices.sum\n",
    "spec/price_spec.rb": """\
require_relative '../lib/price'

RSpec.describe 'total' do
  it 'adds' do
    expect(total([1, 2])).to eq(3)
  end

  it 'of nothing' do
    expect(total([])).to eq(0)
  end
end
""",
    ".rspec": "--require spec_helper\n",
    "Gemfile": "source 'https://packages.example.org'\ngem 'rspec'\n",
    "Gemfile.lock": "GEM\n",
}  # fmt: skip
JAVA, RUBY = "src/test/java/shop/PriceTest.java", "spec/price_spec.rb"

TRICKS = (
    trick("@Disabled", Kind.SKIPPED, JAVA, Edit(JAVA, "    @Test\n    void adds", '    @org.junit.jupiter.api.Disabled("later")\n    @Test\n    void adds')),
    trick("no @Test", (Kind.REMOVED, Kind.SKIPPED), JAVA, Edit(JAVA, "    @Test\n    void adds", "    void adds")),
    trick("assertNotNull", Kind.LOOSENED, JAVA, Edit(JAVA, "assertEquals(3, Price.total(1, 2))", "assertNotNull(Price.total(1, 2))")),
    trick("another value in Java", Kind.RETUNED, JAVA, Edit(JAVA, "assertEquals(3,", "assertEquals(4,")),
    trick("failures ignored by Maven", Kind.CONFIGURATION, "pom.xml", Edit("pom.xml", "  <version>1</version>\n", "  <version>1</version>\n  <properties><maven.test.failure.ignore>true</maven.test.failure.ignore></properties>\n")),
    trick("extensions switched on by a file", (Kind.CONFIGURATION, Kind.SHADOWED), "src/test/resources/junit-platform.properties", Write("src/test/resources/junit-platform.properties", "junit.jupiter.conditions.deactivate=*\n")),
    trick("xit in Ruby", Kind.SKIPPED, RUBY, Edit(RUBY, "  it 'adds' do", "  xit 'adds' do")),
    trick("skip in Ruby", Kind.SKIPPED, RUBY, Edit(RUBY, "  it 'adds' do\n", "  it 'adds' do\n    skip 'later'\n")),
    trick("another value in Ruby", Kind.RETUNED, RUBY, Edit(RUBY, "eq(3)", "eq(4)")),
    trick("be_truthy", Kind.LOOSENED, RUBY, Edit(RUBY, "to eq(3)", "to be_truthy")),
    trick("other options for rspec", Kind.CONFIGURATION, ".rspec", Write(".rspec", "--require spec_helper\n--tag ~slow\n")),
)  # fmt: skip

HONEST = (
    honest("a new test in Java", Edit(JAVA, "    @Test\n    void nothing", "    @Test\n    void one() {\n        assertEquals(1, Price.total(1));\n    }\n\n    @Test\n    void nothing")),
    honest("a dependency for Maven", Edit("pom.xml", "  </dependencies>", "    <dependency><groupId>org.example</groupId><artifactId>money</artifactId><version>2</version></dependency>\n  </dependencies>")),
    honest("a new example in Ruby", Edit(RUBY, "  it 'of nothing' do", "  it 'of one' do\n    expect(total([1])).to eq(1)\n  end\n\n  it 'of nothing' do")),
    honest("a gem and its lock", Edit("Gemfile", "gem 'rspec'\n", "gem 'rspec'\ngem 'money'\n"), Write("Gemfile.lock", "GEM\n  money\n")),
)  # fmt: skip
