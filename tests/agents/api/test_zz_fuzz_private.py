import itertools, json, os
import pytest
from pathlib import Path
pytestmark = pytest.mark.django_db
PATHS = ["", "/", "//", "/etc/passwd", "..", "../x", "a/../b", ".", "./poem.txt", "poem.txt/", "poem.txt//", ":(glob)*", ":/", "-x", "--help", "\\xff", "\\xff\\xfe/a", "a\x00b", "a\nb", "x"*4096, "x"*5000, ".git", ".sakura", ".sakura/", "caf\u00e9", "\u202e", "C:\\x", "*", "[a]", "poem.txt\\x00", "HEAD", "poem.txt:poem.txt", "%2e%2e", "\ud800"]
def test_fuzz(viewer, reviewer, admin, changed):
    bad=[]
    for p in PATHS:
        for addr in ("tree","file","diff","sakura"):
            for at in ({}, {"at":0}, {"at":"latest","from":1,"to":1}, {"context": 5000}):
                try: r = viewer.get(f"/runs/{changed.pk}/{addr}", path=p, **at)
                except UnicodeEncodeError: continue
                if r.status_code>=500: bad.append((addr,p[:30],at,r.status_code))
        for body in ({"path":p},{"path":p,"hunks":[]},{"path":p,"hunks":["x"]},{"path":p,"to":1},{"path":p,"to":2**31},{"path":p,"dry_run":True},{"path":p,"dry_run":True,"hunks":["submodule",""]}):
            r = reviewer.post(f"/runs/{changed.pk}/reverts", json.dumps(body))
            if r.status_code>=500: bad.append(("reverts",str(body)[:60],r.status_code))
        for body in ({"path":p,"line":1,"body":"x"},{"path":p,"body":"a\x00b"},{"path":p,"line":2**31,"body":"x"}):
            r = reviewer.post(f"/runs/{changed.pk}/comments", json.dumps(body))
            if r.status_code>=500: bad.append(("comments",str(body)[:60],r.status_code))
    for body in ([], "x", 1, None, {"verdict":[]}, {"comments":[1]}, {"verdict":"approve","comments":[{"body":"\x00"}],"summary":"\ud800"*5}):
        r = reviewer.post(f"/runs/{changed.pk}/reviews", json.dumps(body))
        print(body, r.status_code)
        if r.status_code>=500: bad.append(("reviews",str(body)[:60],r.status_code))
    for body in ([], "[", {"name":"\x00","source":"\x00"},{"name":"a","source":"file:///etc"},{"name":"a","source":"/etc","setup":["\x00"]},{"name":"n","source":"ssh://-oProxy=x/y"},{"name":1,"source":2},{"name":"b","source":"https://user:pw@x/y"},{"name":"q"*101,"source":"/x"},{"name":"a","source":"https://x/\ud800"}):
        r = admin.post("/repositories", json.dumps(body))
        print(body, r.status_code, r.content[:150])
        if r.status_code>=500: bad.append(("repos",str(body)[:60],r.status_code))
    repo=changed.place.repository_id
    for more in ({"base":"\x00"},{"base":"-x"},{"base":"a..b"},{"base":"x"*250},{"base":"main~1"},{"base":"refs/heads/main"},{"title":"\ud800"},{"script":{"implementer":[{"text":"\x00\ud800"}]}},{"policy":{"verify":["\x00"]}},{"repository":"9"*400},{"repository":10**40},{"repository":-1},{"repository":True},{"repository":1.5},{"budgets":{"usd":"NaN"}},{"budgets":{"usd":1e400}},{"script":{"implementer":[{"delay_ms":1e308}]}}):
        r = admin.post("/tasks", json.dumps({"repository":repo,"title":"t","prompt":"p","script":{},**more}))
        print(str(more)[:60], r.status_code, r.content[:150])
        if r.status_code>=500: bad.append(("tasks",str(more)[:60],r.status_code))
    for q in ({"q":"\x00"},{"q":"%"},{"page":10**30},{"status":""}):
        r = viewer.get("/tasks", **q); print(q, r.status_code)
        if r.status_code>=500: bad.append(("tasks",q))
    deep = "["*100000
    r = admin.post("/tasks", deep); print("deep", r.status_code)
    r = admin.post("/tasks", '{"script":'*900+"1"+"}"*900); print("deep2", r.status_code)
    assert bad==[]
