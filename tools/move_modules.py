"""Move and join the modules of bonwise by maps: every import, string and path follows.

usage: move.py REPO MAP...
"""
from __future__ import annotations
import ast, collections, os, pathlib, re, subprocess, sys
REPO = pathlib.Path(sys.argv[1]); ROOT = REPO / 'src/bonwise'
MARK = 'bonwise__moved'  # stands for bonwise in what is already rewritten
modules = {}  # dotted without bonwise -> (path, is package)
for p in sorted(ROOT.rglob('*.py')):
    parts = list(p.relative_to(ROOT).with_suffix('').parts)
    pkg = parts[-1] == '__init__'
    modules['.'.join(parts[:-1] if pkg else parts)] = (p, pkg)
moves, renames, docs = {}, {}, {}
for f in sys.argv[2:]:
    for line in open(f):
        line = line.strip() if line.startswith('doc ') else line.split('#')[0].strip()
        if not line: continue
        if line.startswith('rename '):
            m = re.fullmatch(r'rename ([\w.]+):(\w+)\s+(\w+)', line); renames[m[1], m[2]] = m[3]
        elif line.startswith('doc '):
            _, mod, text = line.split(' ', 2); docs[mod] = text
        else:
            m = re.fullmatch(r'([\w.]+)\s*->\s*([\w.]+)', line); assert m and m[1] in modules, line; assert m[1] not in moves, line; moves[m[1]] = m[2]
def new(m): return moves.get(m, m)
src = {m: p.read_text() for m, (p, _) in modules.items()}
trees = {m: ast.parse(s) for m, s in src.items()}
groups = collections.defaultdict(list)
plain = {m for m in modules if modules[m][1] and m and m not in moves and len(trees[m].body) <= 1}
for m in modules:
    if m not in plain: groups[new(m)].append(m)
errors = []
def split_module(dotted):
    """bonwise.a.b.Name -> (old module or None, rest)"""
    if dotted == 'bonwise': return '', ''
    if not dotted.startswith('bonwise.'): return None, dotted
    parts = dotted[8:].split('.')
    for k in range(len(parts), 0, -1):
        if '.'.join(parts[:k]) in modules: return '.'.join(parts[:k]), '.'.join(parts[k:])
    return None, dotted
# ---- scope analysis: positions of names that resolve to the module
def bound(fn):
    names = set()
    a = fn.args
    for x in [*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg]:
        if x: names.add(x.arg)
    glob = set()
    body = fn.body if isinstance(fn.body, list) else [fn.body]
    def visit(n):
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(n.name); return
        if isinstance(n, ast.Lambda): return
        if isinstance(n, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            for x in ast.walk(n):
                if isinstance(x, ast.NamedExpr): names.add(x.target.id)
            return
        if isinstance(n, ast.Name) and isinstance(n.ctx, (ast.Store, ast.Del)): names.add(n.id)
        if isinstance(n, (ast.Import, ast.ImportFrom)):
            for x in n.names: names.add((x.asname or x.name).split('.')[0])
        if isinstance(n, ast.ExceptHandler) and n.name: names.add(n.name)
        if isinstance(n, (ast.MatchAs, ast.MatchStar)) and n.name: names.add(n.name)
        if isinstance(n, ast.MatchMapping) and n.rest: names.add(n.rest)
        if isinstance(n, ast.Global): glob.update(n.names)
        for c in ast.iter_child_nodes(n): visit(c)
    for b in body: visit(b)
    return names - glob
def global_uses(tree, wanted):
    """yield (lineno, col, name) of each use of a module-level name"""
    def walk(n, hidden):
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for d in n.decorator_list: yield from walk(d, hidden)
            for d in [*n.args.defaults, *[x for x in n.args.kw_defaults if x]]: yield from walk(d, hidden)
            for x in [*n.args.posonlyargs, *n.args.args, *n.args.kwonlyargs, n.args.vararg, n.args.kwarg]:
                if x and x.annotation: yield from walk(x.annotation, hidden)
            if n.returns: yield from walk(n.returns, hidden)
            inner = hidden | (bound(n) & wanted)
            for b in n.body: yield from walk(b, inner)
            return
        if isinstance(n, ast.Lambda):
            for d in [*n.args.defaults, *[x for x in n.args.kw_defaults if x]]: yield from walk(d, hidden)
            yield from walk(n.body, hidden | (bound(n) & wanted)); return
        if isinstance(n, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            own = {x.id for g in n.generators for x in ast.walk(g.target) if isinstance(x, ast.Name)} & wanted
            for c in ast.iter_child_nodes(n): yield from walk(c, hidden | own)
            return
        if isinstance(n, ast.ClassDef):
            for d in [*n.decorator_list, *n.bases, *n.keywords]: yield from walk(d, hidden)
            for b in n.body: yield from walk(b, hidden)
            return
        if isinstance(n, ast.Name) and n.id in wanted and n.id not in hidden: yield n.lineno, n.col_offset, n.id
        for c in ast.iter_child_nodes(n): yield from walk(c, hidden)
    yield from walk(tree, frozenset())
def line_starts(s):
    out = [0]
    for l in s.splitlines(keepends=True): out.append(out[-1] + len(l))
    return out
class Edit:
    def __init__(self, s): self.s, self.e = s, []; self.ls = line_starts(s); self.lines = s.splitlines(keepends=True)
    def pos(self, line, col):  # col in utf8 bytes
        l = self.lines[line - 1] if line - 1 < len(self.lines) else ''
        return self.ls[line - 1] + len(l.encode()[:col].decode())
    def add(self, a, b, t): self.e.append((a, b, t))
    def done(self):
        s = self.s
        for a, b, t in sorted(set(self.e), key=lambda x: (-x[0], -x[1])): s = s[:a] + t + s[b:]
        return s
TOPDEF = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
def is_tc(n): return isinstance(n, ast.If) and ast.unparse(n.test) in ('TYPE_CHECKING', 'typing.TYPE_CHECKING')
def rewrite(text, me, is_module, group):
    """Rewrite a python file. me: old module name (in src) or None. Returns body text, imports (top), tc imports, __all__, docstring."""
    tree = ast.parse(text)
    ed = Edit(text)
    ren = {}       # module-level names to rename in this file
    attr = []      # (alias, old module) : attributes to rename
    top, tcs = [], []
    allnames = None
    if me is not None:
        for (m, a), b in renames.items():
            if m == me and a != 'MODEL': ren[a] = b
    def target(modname, name):
        """what `from modname import name` becomes: (new module dotted, new name) or ('module', pkg, name)"""
        base, rest = split_module(modname)
        if base is None or rest: return None
        full = (base + '.' + name).lstrip('.')
        if full in modules:
            nm = new(full); pkg, _, leaf = nm.rpartition('.')
            return ('module', pkg, leaf, full)
        return ('name', new(base), renames.get((base, name), name), base)
    def stmt_comment(n):
        seg = text[ed.pos(n.lineno, n.col_offset):ed.pos(n.end_lineno, n.end_col_offset)]
        endline = ed.lines[n.end_lineno - 1].rstrip('\n')
        tail = endline.encode()[n.end_col_offset:].decode()
        if '#' in tail: return '  ' + tail.strip()
        m = re.search(r'#.*', seg)
        return '  ' + m[0].strip() if m and '\n' in seg else ''
    def line_span(n):
        a = ed.ls[n.lineno - 1]; b = ed.ls[n.end_lineno]
        return a, b
    def convert(n):
        """-> list of ('from', module, name, asname) | ('import', name, asname); sets ren for aliases to own module"""
        out = []
        if isinstance(n, ast.Import):
            for a in n.names:
                base, rest = split_module(a.name)
                if a.name.startswith('bonwise.') and base is not None and not rest:
                    nm = new(base)
                    if a.asname:
                        out.append(('import', MARK + '.' + nm, a.asname))
                    else:
                        out.append(('import', MARK + ('.' + nm if nm else ''), None))
                        if nm != base: errors.append(f'{me}: plain import {a.name}')
                else: out.append(('import', a.name, a.asname))
            return out
        if n.level: errors.append(f'{me}: relative import'); return out
        for a in n.names:
            t = target(n.module, a.name) if n.module.startswith('bonwise') else None
            if t is None: out.append(('from', n.module, a.name, a.asname)); continue
            if t[0] == 'module':
                _, pkg, leaf, full = t
                if group is not None and new(full) == group: errors.append(f'{me}: imports its own joined module {full} as an object')
                shown = a.asname or a.name
                out.append(('from', MARK + ('.' + pkg if pkg else ''), leaf, shown if shown != leaf else None))
                attr.append((shown, full))
            else:
                _, nm, nn, base = t
                shown = a.asname or a.name
                if group is not None and nm == group:
                    if shown != nn: ren[shown] = nn
                    continue
                if a.asname: out.append(('from', MARK + ('.' + nm if nm else ''), nn, a.asname if a.asname != nn else None))
                else:
                    if nn != a.name: ren[a.name] = nn
                    out.append(('from', MARK + ('.' + nm if nm else ''), nn, None))
        return out
    nested_spans = []
    def emit(items, comment, indent):
        by = collections.OrderedDict()
        lines = []
        for i in items:
            if i[0] == 'import': lines.append(f'{indent}import {i[1]}' + (f' as {i[2]}' if i[2] else '') + comment)
            else: by.setdefault(i[1], []).append(i[2] + (f' as {i[3]}' if i[3] else ''))
        for mod, names in by.items(): lines.append(f'{indent}from {mod} import {", ".join(names)}{comment}')
        return ''.join(l + '\n' for l in lines)
    body = tree.body
    doc = ast.get_docstring(tree, clean=False)
    start = 0
    if doc is not None and is_module:
        a, b = line_span(body[0]); ed.add(a, b, '')
        start = 1
    handled = set()
    if is_module:
        for n in body[start:]:
            if isinstance(n, (ast.Import, ast.ImportFrom)):
                c = stmt_comment(n)
                if isinstance(n, ast.ImportFrom) and n.module == '__future__': pass
                else: top += [(i, c) for i in convert(n)]
                ed.add(*line_span(n), ''); handled.add(n)
            elif is_tc(n):
                rest = [x for x in n.body if not isinstance(x, (ast.Import, ast.ImportFrom, ast.Pass))]
                if rest or n.orelse: errors.append(f'{me}: TYPE_CHECKING block with code')
                for x in n.body:
                    if isinstance(x, (ast.Import, ast.ImportFrom)): tcs += [(i, stmt_comment(x)) for i in convert(x)]; handled.add(x)
                ed.add(*line_span(n), '')
            elif isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == '__all__':
                try: allnames = [ren.get(x, x) for x in ast.literal_eval(n.value) if x != 'MODEL']
                except Exception: errors.append(f'{me}: __all__ is computed')
                ed.add(*line_span(n), '')
            elif isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == 'MODEL' and me.startswith('documents'):
                ed.add(*line_span(n), '')
    for n in ast.walk(tree):
        if isinstance(n, (ast.Import, ast.ImportFrom)) and n not in handled:
            touches = (isinstance(n, ast.ImportFrom) and (n.module or '').startswith('bonwise')) or (isinstance(n, ast.Import) and any(a.name.startswith('bonwise') for a in n.names))
            if not touches: continue
            if n.col_offset and ed.lines[n.lineno - 1].encode()[:n.col_offset].strip(): errors.append(f'{me}: import after code on a line {n.lineno}'); continue
            indent = ed.lines[n.lineno - 1][: len(ed.lines[n.lineno - 1]) - len(ed.lines[n.lineno - 1].lstrip())]
            ed.add(*line_span(n), emit(convert(n), stmt_comment(n), indent))
    # renames
    if ren:
        for line, col, name in global_uses(tree, set(ren)):
            a = ed.pos(line, col); ed.add(a, a + len(name), ren[name])
        for n in tree.body:
            pass
        for n in ast.walk(tree):
            if isinstance(n, TOPDEF) and n.name in ren and n in tree.body:
                l = ed.lines[n.lineno - 1]; k = re.search(rf'\b(def|class)\s+({n.name})\b', l); a = ed.ls[n.lineno - 1] + k.start(2); ed.add(a, a + len(n.name), ren[n.name])
            if isinstance(n, ast.Global):
                for x in n.names:
                    if x in ren: errors.append(f'{me}: global {x}')
    for alias, full in attr:
        table = {a: b for (m, a), b in renames.items() if m == full}
        if table:
            for n in ast.walk(tree):
                if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == alias and n.attr in table:
                    b = ed.pos(n.end_lineno, n.end_col_offset); ed.add(b - len(n.attr), b, table[n.attr])
    # monkeypatch.setattr(module, "name")
    out = ed.done()
    for alias, full in attr:
        table = {a: b for (m, a), b in renames.items() if m == full}
        for a, b in table.items(): out = re.sub(rf'(\bsetattr\(\s*{alias},\s*")({a})(")', rf'\g<1>{b}\g<3>', out)
    return out, top, tcs, allnames, doc
# ---- text references
PATHS = {}
for m, (p, pkg) in modules.items():
    if m in moves and not pkg: PATHS[m] = new(m)
DOTTED = re.compile(r'\bbonwise((?:\.[a-z_][a-z_0-9]*)+)([.:][A-Za-z_]\w*)?')
def dotted(m):
    parts = m[1][1:].split('.')
    for k in range(len(parts), 0, -1):
        old = '.'.join(parts[:k])
        if old in moves:
            rest = parts[k:]
            tail = ''
            if rest:
                rest[0] = renames.get((old, rest[0]), rest[0]); tail = '.' + '.'.join(rest)
            t2 = m[2] or ''
            if t2 and not rest:
                t2 = t2[0] + renames.get((old, t2[1:]), t2[1:])
            if modules[old][1] and old not in PATHS and len(parts) == 1: return m[0]
            return f'{MARK}.{new(old)}{tail}{t2}'
        if old in modules and not modules[old][1]: return m[0]
    return m[0]
FILE = re.compile(r'(?<![\w/])((?:src/)?(?:bonwise/)?)((?:[a-z_0-9]+/)*[a-z_0-9]+)\.py\b')
def path(m):
    old = m[2].replace('/', '.')
    if old.endswith('.__init__'): return m[0]
    if not m[1] and '/' not in m[2]: return m[0]
    if old in PATHS: return f'{m[1]}{PATHS[old].replace(".", "/")}.py'
    return m[0]
def texts(s): return FILE.sub(path, DOTTED.sub(dotted, s)).replace(MARK, 'bonwise')
# ---- order inside a group
edges = collections.defaultdict(set)
for m, t in trees.items():
    for n in t.body:
        if isinstance(n, ast.ImportFrom) and (n.module or '').startswith('bonwise'):
            base, rest = split_module(n.module)
            for a in n.names:
                full = ((base or '') + '.' + a.name).lstrip('.')
                if full in modules: edges[m].add(full)
                elif base: edges[m].add(base)
def ordered(g, ms):
    leaf = g.rpartition('.')[2]
    first = sorted(ms, key=lambda m: (m.rpartition('.')[2] != leaf, m))
    out, seen = [], set()
    def visit(m, trail=()):
        if m in seen: return
        if m in trail: errors.append(f'cycle in {g}: {trail}'); return
        for x in first:
            if x in edges[m] and x != m: visit(x, (*trail, m))
        seen.add(m); out.append(m)
    for m in first: visit(m)
    return out
documents = {}
newfiles = {}
for g, ms in sorted(groups.items()):
    order = ordered(g, ms)
    principal = max(ms, key=lambda m: (m.rpartition('.')[2] == g.rpartition('.')[2], len(src[m])))
    tops, tcs, names, bodies, docstring = [], [], [], [], None
    defs = {}
    for m in order:
        b, t, tc, al, d = rewrite(src[m], m, True, g)
        tops += t; tcs += tc; names += al or []
        if al is None and len(trees[m].body) > 1 and len(ms) > 1 and not modules[m][1]: errors.append(f'{m}: no __all__')
        if m == principal: docstring = d
        b = b.strip('\n')
        # drop definitions that stand already, identical
        if len(ms) > 1:
            tb = ast.parse(b); lines = b.split('\n'); kill = []
            for i, n in enumerate(tb.body):
                nm = n.name if isinstance(n, TOPDEF) else n.targets[0].id if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name) else n.target.id if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name) else None
                if nm is None: continue
                dump = ast.dump(n)
                if nm in defs:
                    if defs[nm] == dump:
                        a = n.lineno if not getattr(n, 'decorator_list', None) else n.decorator_list[0].lineno
                        e = n.end_lineno
                        if i + 1 < len(tb.body) and isinstance(tb.body[i+1], ast.Expr) and isinstance(getattr(tb.body[i+1], 'value', None), ast.Constant): e = tb.body[i+1].end_lineno
                        kill.append((a, e))
                    else: errors.append(f'CLASH {g}: {nm} again in {m}')
                else: defs[nm] = dump
            for a, e in reversed(kill): del lines[a-1:e]
            b = '\n'.join(lines).strip('\n')
        if b: bodies.append(b)
    run = {}
    seen_names = {}
    def add(items, table, other=None):
        for i, c in items:
            shown = i[3] or i[2] if i[0] == 'from' else (i[2] or i[1])
            if other is not None and (i in other): continue
            if other is not None and any((k[3] or k[2] if k[0]=='from' else (k[2] or k[1])) == shown for k in other): continue
            if shown in seen_names and seen_names[shown] != i: errors.append(f'CLASH {g}: {shown} imported as {i} and {seen_names[shown]}')
            if shown in defs and i[0] == 'from': errors.append(f'CLASH {g}: {shown} imported ({i[1]}) and defined')
            seen_names[shown] = i
            table[i] = table.get(i) or c
    add(tops, run)
    tct = {}
    add(tcs, tct, run)
    def block(table, indent=''):
        by, out = collections.OrderedDict(), []
        for i, c in sorted(table.items(), key=lambda x: str(x[0])):
            if i[0] == 'import': out.append(f'{indent}import {i[1]}' + (f' as {i[2]}' if i[2] else '') + c)
            elif c: out.append(f'{indent}from {i[1]} import {i[2]}' + (f' as {i[3]}' if i[3] else '') + c)
            else: by.setdefault(i[1], []).append(i[2] + (f' as {i[3]}' if i[3] else ''))
        out += [f'{indent}from {mod} import ({", ".join(ns)})' for mod, ns in by.items()]
        return '\n'.join(out)
    docstring = docs.get(g, docstring) or f'{g}.'
    q = '"""'
    if '\\' in docstring: docstring = docstring; q2 = 'r"""'
    else: q2 = q
    run.pop(('from', 'typing', 'TYPE_CHECKING', None), None)
    if tct: run[('from', 'typing', 'TYPE_CHECKING', None)] = ''
    parts = [f'{q2}{docstring}{q}', 'from __future__ import annotations' if any('__future__' in src[m] for m in ms) else '', block(run)]
    if tct: parts.append('if TYPE_CHECKING:\n' + block(tct, '    '))
    if names: 
        ns = sorted(dict.fromkeys(names), key=lambda x: (not x.isupper(), not x[0].isupper(), x))
        parts.append('__all__ = [' + ', '.join(f'"{x}"' for x in ns) + ']')
    parts.append('\n\n\n'.join(bodies))
    kind = 'pkg' if all(modules[m][1] for m in ms) else 'mod'
    newfiles[g] = (kind, '\n\n'.join(p for p in parts if p) + '\n')
for e in dict.fromkeys(errors): print('ERR', e)
if errors and '--force' not in os.environ.get('MOVE', ''): sys.exit(f'{len(set(errors))} errors; nothing written')
# ---- write
FOLDERS = {}
for line in open('/work/tmp/folders.txt'):
    k, _, v = line.strip().partition(' '); FOLDERS[k] = v
for m, (p, pkg) in modules.items(): p.unlink()
def where(g, kind): return ROOT / (g.replace('.', '/') + ('/__init__.py' if kind == 'pkg' else '.py')) if g else ROOT / '__init__.py'
written = set()
for g, (kind, text) in newfiles.items():
    f = where(g, kind); f.parent.mkdir(parents=True, exist_ok=True); f.write_text(texts(text)); written.add(f)
for f in list(written):
    d = f.parent
    while d != ROOT:
        i = d / '__init__.py'
        if not i.exists():
            k = '.'.join(d.relative_to(ROOT).parts); i.write_text(f'"""{FOLDERS[k]}"""\n' if k in FOLDERS else src.get(k) or f'"""{k}"""\n'); written.add(i)
        d = d.parent
for d in sorted((x for x in ROOT.rglob('*') if x.is_dir()), key=lambda x: -len(x.parts)):
    if d.name == '__pycache__':
        import shutil; shutil.rmtree(d)
    elif not any(d.iterdir()): d.rmdir()
# ---- everything else
listed = subprocess.run(['git', '-C', str(REPO), 'ls-files'], capture_output=True, text=True).stdout.split('\n')
for name in listed:
    f = REPO / name
    if not name or not f.exists() or f in written or 'golden' in name or name in ('CHANGELOG.md',) or name.startswith('src/bonwise'): continue
    if f.suffix not in ('.py', '.md', '.toml', '.yml', '.yaml', '.txt', '.sh', '.diff', '.js', '') : continue
    try: s = f.read_text()
    except UnicodeDecodeError: continue
    if f.suffix == '.py':
        try: s2, *_ = rewrite(s, None, False, None)
        except SyntaxError as e: print('SYNTAX', f, e); continue
    else: s2 = s
    s2 = texts(s2)
    if s2 != s: f.write_text(s2)
for e in dict.fromkeys(errors): print('LATE', e)
print('files now', sum(1 for _ in ROOT.rglob('*.py')))
