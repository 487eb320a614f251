"""The grammar of Python, as far as readers of tests need it."""

from .grammar import Grammar

G = Grammar(
    strings=frozenset(("string", "concatenated_string")),
    interpolations=frozenset(("interpolation",)),
    blocks=frozenset(("block", "case_clause")),
    names=frozenset(("identifier",)),
    calls={
        "call": ("function", "", "arguments"),
        "attribute": ("object", "attribute", ""),
    },
    guards={
        "if_statement": "if", "for_statement": "loop", "while_statement": "loop", "with_statement": "with",
        "try_statement": "try", "match_statement": "if", "except_clause": "if", "except_group_clause": "if",
        "finally_clause": "always", "function_definition": "function", "class_definition": "function",
        "lambda": "function", "conditional_expression": "if", "list_comprehension": "loop",
    },
    dropped=frozenset(("type",)),
    bare=frozenset(
        (
            "assert_statement", "expression_statement", "assignment", "return_statement", "argument_list",
            "if_statement", "parenthesized_expression", "keyword_argument", "while_statement",
            "for_statement", "with_item", "pair", "list",
        )
    ),
    binary=frozenset(("comparison_operator", "boolean_operator")),
    negations=frozenset(("not_operator",)),
    lists=frozenset(("list", "tuple", "dictionary", "set")),
    wrappers=frozenset(("await",)),
    passes=frozenset(("pass_statement", "import_statement", "import_from_statement", "future_import_statement")),
)  # fmt: skip
