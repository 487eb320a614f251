"""Reading requests: all text in them becomes text that every database takes."""

import json
from typing import Any

from django.http import HttpRequest
from django.utils.datastructures import MultiValueDict
from ninja.parser import Parser

from agents.encoding import safe


class SafeParser(Parser):
    """Ninja's parser, with NUL and lone surrogates written as escapes."""

    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        body: dict[str, Any] = safe(json.loads(request.body))
        return body

    def parse_querydict(
        self, data: MultiValueDict[str, str], list_fields: list[str], request: HttpRequest
    ) -> dict[str, Any]:
        query: dict[str, Any] = safe(super().parse_querydict(data, list_fields, request))
        return query
