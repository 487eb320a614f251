"""Tricks and honest edits in tests written in Ruby: rspec and minitest."""

import pytest

from tests.workspaces.integrity.test_sources import Edit, assert_caught, assert_quiet, compare, told
from workspaces.integrity.findings import FindingKind as Kind

SPEC = "spec/cart_spec.rb"
SPEC_BASE = """\
require 'spec_helper'

RSpec.describe Cart do
  let(:cart) { Cart.new(5, 7) }

  before do
    cart.open
  end

  it 'adds' do
    result = cart.total
    expect(result).to eq(12)
    expect(result).to be > 10
    expect(cart.mean).to be_within(0.001).of(6.0)
  end

  [[1, 1], [2, 2]].each do |price, wanted|
    it "has #{price}" do
      expect(Cart.new(price).total).to eq(wanted)
    end
  end

  it 'refuses' do
    expect { Cart.new(-1) }.to raise_error(ArgumentError, /negative/)
  end

  context 'when closed' do
    it 'keeps' do
      expect(cart.names).to include('a')
      expect(cart.names).not_to be_empty
    end
  end

  xit 'is not yet' do
    expect(cart).to be_nil
  end
end
"""
MINI = "test/cart_test.rb"
MINI_BASE = """\
require 'test_helper'

class CartTest < Minitest::Test
  EXPECTED = 12

  def setup
    @cart = Cart.new(5, 7)
  end

  def test_adds
    result = @cart.total
    assert_equal EXPECTED, result
    assert_in_delta 6.0, @cart.mean, 0.001
    assert result == 12
  end

  def test_refuses
    assert_raises(ArgumentError) { Cart.new(-1) }
  end

  def test_table
    [[1, 1], [2, 2]].each do |price, wanted|
      assert_equal wanted, Cart.new(price).total
    end
    _(@cart.names).must_equal ['a']
  end
end
"""
BASES = {SPEC: SPEC_BASE, MINI: MINI_BASE}


def edit(name: str, kind: Kind | None, old: str, new: str) -> Edit:
    return Edit(name, kind, old, new)


_REFUSES = "  it 'refuses' do\n    expect { Cart.new(-1) }.to raise_error(ArgumentError, /negative/)\n  end\n"
SPEC_TRICKS = (
    edit("an example deleted", Kind.REMOVED, _REFUSES, ""),
    edit("a check deleted", Kind.REMOVED, "    expect(result).to be > 10\n", ""),
    edit("a check commented out", Kind.REMOVED, "    expect(result).to be > 10\n", "    # expect(result).to be > 10\n"),
    edit("a case dropped", Kind.REMOVED, "[[1, 1], [2, 2]]", "[[1, 1]]"),
    edit("xit", Kind.SKIPPED, "it 'refuses'", "xit 'refuses'"),
    edit("skip", Kind.SKIPPED, "    result = cart.total\n", "    skip 'later'\n    result = cart.total\n"),
    edit("skip, a bare word", Kind.SKIPPED, "    result = cart.total\n", "    skip\n    result = cart.total\n"),
    edit("pending", Kind.SKIPPED, "    result = cart.total\n", "    pending 'later'\n    result = cart.total\n"),
    edit("pending in place of it", Kind.SKIPPED, "it 'refuses'", "pending 'refuses'"),
    edit("skip among the options", Kind.SKIPPED, "it 'refuses' do", "it 'refuses', skip: true do"),
    edit("a symbol", Kind.SKIPPED, "it 'refuses' do", "it 'refuses', :skip do"),
    edit("a label", Kind.SKIPPED, "it 'refuses' do", "it 'refuses', :slow do"),
    edit("a context", Kind.SKIPPED, "context 'when closed'", "xcontext 'when closed'"),
    edit("focus", Kind.SKIPPED, "it 'refuses' do", "fit 'refuses' do"),
    edit("focus among the options", Kind.SKIPPED, "it 'refuses' do", "it 'refuses', focus: true do"),
    edit("if false", Kind.SKIPPED, "    expect(result).to be > 10\n", "    if false\n      expect(result).to be > 10\n    end\n"),
    edit("if false behind it", Kind.SKIPPED, "    expect(result).to be > 10\n", "    expect(result).to be > 10 if false\n"),
    edit("be_truthy", Kind.LOOSENED, "expect(result).to eq(12)", "expect(result).to be_truthy"),
    edit("not nil", Kind.LOOSENED, "expect(result).to eq(12)", "expect(result).not_to be_nil"),
    edit("a type", Kind.LOOSENED, "expect(result).to eq(12)", "expect(result).to be_a(Integer)"),
    edit("a wider tolerance", Kind.LOOSENED, "be_within(0.001)", "be_within(10)"),
    edit("a lower bound", Kind.LOOSENED, "be > 10", "be > 1"),
    edit("any error", Kind.LOOSENED, "raise_error(ArgumentError, /negative/)", "raise_error"),
    edit("any message", Kind.LOOSENED, "raise_error(ArgumentError, /negative/)", "raise_error(ArgumentError)"),
    edit("failures rescued", Kind.LOOSENED, "    expect(result).to be > 10\n", "    begin\n      expect(result).to be > 10\n    rescue StandardError\n    end\n"),
    edit("failures rescued behind it", Kind.LOOSENED, "    expect(result).to be > 10\n", "    expect(result).to be > 10 rescue nil\n"),
    edit("failures expected", Kind.LOOSENED, "    expect(result).to be > 10\n", "    expect { expect(result).to be > 10 }.to raise_error\n"),
    edit("another value", Kind.RETUNED, "eq(12)", "eq(13)"),
    edit("another case", Kind.RETUNED, "[2, 2]]", "[2, 3]]"),
    edit("another let", Kind.RETUNED, "Cart.new(5, 7)", "Cart.new(12)"),
    edit("another hook", Kind.RETUNED, "cart.open", "cart.fake"),
    edit("the result made up", Kind.RETUNED, "result = cart.total", "result = 12"),
    edit("stubbed", Kind.SHADOWED, "    result = cart.total\n", "    allow(cart).to receive(:total).and_return(12)\n    result = cart.total\n"),
    edit("the tool patched", Kind.SHADOWED, "require 'spec_helper'\n", "require 'spec_helper'\n\nmodule RSpec::Expectations\n  def self.fail_with(*) = nil\nend\n"),
    edit("configured", Kind.CONFIGURATION, "require 'spec_helper'\n", "require 'spec_helper'\n\nRSpec.configure do |config|\n  config.filter_run_excluding :all\nend\n"),
)  # fmt: skip
MINI_TRICKS = (
    edit("a test renamed", Kind.REMOVED, "def test_refuses", "def refuses"),
    edit("a test defined again", Kind.REMOVED, "  def test_table", "  def test_adds\n  end\n\n  def test_table"),
    edit("a check deleted", Kind.REMOVED, "    assert_equal EXPECTED, result\n", ""),
    edit("a case dropped", Kind.REMOVED, "[[1, 1], [2, 2]]", "[[2, 2]]"),
    edit("skip", Kind.SKIPPED, "    result = @cart.total\n", "    skip\n    result = @cart.total\n"),
    edit("return early", Kind.SKIPPED, "    result = @cart.total\n", "    return\n    result = @cart.total\n"),
    edit("return under a condition", Kind.SKIPPED, "    result = @cart.total\n", "    return if @cart\n    result = @cart.total\n"),
    edit("unless true", Kind.SKIPPED, "    assert result == 12\n", "    assert result == 12 unless true\n"),
    edit("assert", Kind.LOOSENED, "assert_equal EXPECTED, result", "assert result"),
    edit("refute_nil", Kind.LOOSENED, "assert_equal EXPECTED, result", "refute_nil result"),
    edit("a wider delta", Kind.LOOSENED, "@cart.mean, 0.001", "@cart.mean, 10"),
    edit("any error", Kind.LOOSENED, "assert_raises(ArgumentError)", "assert_raises(StandardError)"),
    edit("rescued at the end", Kind.LOOSENED, "    assert result == 12\n", "    assert result == 12\n  rescue Minitest::Assertion\n"),
    edit("or true", Kind.LOOSENED, "assert result == 12", "assert result == 12 || true"),
    edit("another constant", Kind.RETUNED, "EXPECTED = 12", "EXPECTED = 13"),
    edit("another value", Kind.RETUNED, "must_equal ['a']", "must_equal ['b']"),
    edit("another set-up", Kind.RETUNED, "Cart.new(5, 7)", "Cart.new(12)"),
    edit("the process ended", Kind.SHADOWED, "    @cart = Cart.new(5, 7)\n", "    @cart = Cart.new(5, 7)\n    exit!(0)\n"),
)  # fmt: skip
SPEC_HONEST = (
    edit("a new example", Kind.ADDED, "  it 'refuses' do", "  it 'is new' do\n    expect(Cart.new(1).total).to eq(1)\n  end\n\n  it 'refuses' do"),
    edit("a check more", None, "    expect(result).to be > 10\n", "    expect(result).to be > 10\n    expect(result).to be < 20\n"),
    edit("a case more", None, "[[1, 1], [2, 2]]", "[[1, 1], [2, 2], [3, 3]]"),
    edit("other quotes", None, "it 'refuses'", 'it "refuses"'),
    edit("brackets left out", None, "eq(12)", "eq 12"),
    edit("a comment", None, "    expect(result).to be > 10\n", "    # More than ten.\n    expect(result).to be > 10 # yes\n"),
    edit("unskipped", None, "xit 'is not yet'", "it 'is not yet'"),
    edit("a tighter tolerance", None, "be_within(0.001)", "be_within(0.0001)"),
    edit("a tighter bound", None, "be > 10", "be > 11"),
    edit("equal in place of included", None, "expect(cart.names).to include('a')", "expect(cart.names).to eq(['a'])"),
    edit("a let for new examples", Kind.ADDED, "  before do", "  let(:empty) { Cart.new }\n\n  it 'is empty' do\n    expect(empty.total).to eq(0)\n  end\n\n  before do"),
)  # fmt: skip
MINI_HONEST = (
    edit("a new test", Kind.ADDED, "  def test_table", "  def test_more\n    assert_equal 1, Cart.new(1).total\n  end\n\n  def test_table"),
    edit("a check more", None, "    assert result == 12\n", "    assert result == 12\n    assert result < 20\n"),
    edit("brackets", None, "assert_equal EXPECTED, result", "assert_equal(EXPECTED, result)"),
    edit("a variable renamed", None, "    result = @cart.total\n    assert_equal EXPECTED, result\n    assert_in_delta 6.0, @cart.mean, 0.001\n    assert result == 12\n", "    sum = @cart.total\n    assert_equal EXPECTED, sum\n    assert_in_delta 6.0, @cart.mean, 0.001\n    assert sum == 12\n"),
    edit("assert_equal in place of assert", None, "assert result == 12", "assert_equal 12, result"),
    edit("a message", None, "assert_equal EXPECTED, result", "assert_equal EXPECTED, result, 'all of it'"),
)  # fmt: skip


def table(spec: tuple[Edit, ...], mini: tuple[Edit, ...]) -> list[tuple[str, Edit]]:
    return [*((SPEC, each) for each in spec), *((MINI, each) for each in mini)]


@pytest.mark.parametrize(("path", "trick"), table(SPEC_TRICKS, MINI_TRICKS), ids=str)
def test_a_trick_is_caught(path: str, trick: Edit) -> None:
    assert_caught(path, BASES[path], trick)


@pytest.mark.parametrize(("path", "honest"), table(SPEC_HONEST, MINI_HONEST), ids=str)
def test_an_honest_edit_is_not_suspect(path: str, honest: Edit) -> None:
    assert_quiet(path, BASES[path], honest)


@pytest.mark.parametrize("asks", ["defined?(RSpec)", "ENV['RAILS_ENV'] == 'test'", "Rails.env.test?"])
def test_code_that_asks_whether_it_is_tested_is_told(asks: str) -> None:
    old = "def total(all)\n  all.sum\nend\n"
    found = compare("lib/cart.rb", old, f"def total(all)\n  return 12 if {asks}\n  all.sum\nend\n")
    assert [each.kind for each in found] == [Kind.SHADOWED], told(found)
