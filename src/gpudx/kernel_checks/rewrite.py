"""OpenCL C in, OpenCL C with checks out.

Every access to memory is found in libclang's tree, together with the objects that its pointer can come from: arguments,
arrays, or "unknown", which is not checked. In front of the access comes a guard that compares the address with the object's
own bounds, so that an index which leaves its buffer and lands in another one is seen. An access that fails is reported and
left out; a read gives 0 then. Texts of expressions are kept as they are, because types then stay as they are, too.

An expression is written twice (guard and access) only where that has no effects; otherwise it goes through a function that
takes its address and gives back the address of a scratch place if the access must not happen.
"""

from __future__ import annotations

import re
from dataclasses import replace

from gpudx.kernel_checks import layouts, prelude
from gpudx.kernel_checks.builtins import (
    BARRIERS,
    FENCES,
    LOCKS,
)
from gpudx.kernel_checks.called_kernels import CALLED
from gpudx.kernel_checks.cl_types import element_bytes, qualifier, scalar_bytes, space
from gpudx.kernel_checks.errors import Unsupported
from gpudx.kernel_checks.neighbours import Neighbours
from gpudx.kernel_checks.plan import (
    Function,
    KernelPlan,
    Rewritten,
    Thing,
)
from gpudx.kernel_checks.proofs import LONGEST, Prover, Unproved
from gpudx.kernel_checks.sharing import Sharing
from gpudx.kernel_checks.statements import Statements
from gpudx.kernel_checks.syntax import KERNEL, Node
from gpudx.kernel_checks.uniform import Uniformity

# Every driver inlines functions with barriers in the end. PoCL 3.1 does it late, and its compiler (LLVM 15) crashes in the pass behind it
# where checks and a loop with barriers come together in a function that is called twice.
INLINED = "__attribute__((always_inline)) "
PROVABLE = {"bounds", "align", "overflow", "div", "barriers", "races", "uninit"}
LIGHT = "gdx_light_"
FOLLOWING = re.compile(r"\bgdx_(?:at|at_a|span|p[glx])\(")  # checks that follow who accessed what
CHECKING = re.compile(r"\bgdx_(?:at|at_a|span|ix|p[glcpx])\(")
# Intel's compiler for CPUs puts work-items into vectors, and a call out of line then takes each of them out again: with it, a kernel
# that follows its accesses took twice as long.
ONE_BY_ONE = "__attribute__((intel_vec_len_hint(1))) "
CONST = re.compile(r"\bconst\b")
ARGUMENT_SPACES = {"l": "local", "c": "constant"}


def real(text: str) -> str:
    """Text of the source, which has one character per byte here, as people read it."""
    text = text.replace(CALLED, "")
    return text if text.isascii() else text.encode("latin-1").decode("utf-8", "replace")


def named(plan: KernelPlan) -> KernelPlan:
    return replace(plan, name=real(plan.name), light=named(plan.light) if plan.light else None)


def loop_of(node: Node) -> Node | None:
    above = node.parent
    while above is not None and above.kind not in ("WHILE_STMT", "DO_STMT", "FOR_STMT"):
        above = above.parent
    return above


class Rewriter(Statements):
    def run(self) -> Rewritten:
        self._collect()
        edits: list[tuple[int, int, str]] = []
        kernels: list[KernelPlan] = []
        for node in self.tree.declarations:
            if node.kind == "FUNCTION_DECL":
                edits += self._function(node, kernels)
        out, at = [], 0
        for start, end, new in sorted(edits, key=lambda edit: (edit[0], edit[1])):
            if start < at:
                raise Unsupported("declarations overlap")
            out += [self.text[at:start], new]
            at = end
        out.append(self.text[at:])
        body = "".join(out).encode("latin-1").decode("utf-8", "surrogateescape")
        for plan in kernels:
            plan.unchecked, plan.checked = self._counted(self.functions[plan.name])
        self._spread_writes()
        self._settle(kernels)
        head = prelude.text(
            self.checks, body, self.late, self.blind, self.fences, self.grain, self.local_grain, self.flat
        )
        sites = [replace(site, text=real(site.text), kernel=real(site.kernel)) for site in self.sites]
        things = [replace(thing, name=real(thing.name), function=real(thing.function)) for thing in self.things]
        return Rewritten(head + body, [named(plan) for plan in kernels], sites, things)

    def _spread_writes(self) -> None:
        """What a function writes through its parameters, its callers write."""
        changed = True
        while changed:
            changed = False
            for function in self.functions.values():
                for declared, name, at in function.passed:
                    callee = self.functions[name]
                    if callee.params[at].number in callee.written and declared not in function.written:
                        function.written.add(declared)
                        changed = True

    def _settle(self, kernels: list[KernelPlan]) -> None:
        """What only the whole source says: how finely global memory is followed, and that unseen writes may happen."""
        for plan in kernels:
            self._settle([plan.light] if plan.light else [])
            function = self.functions[plan.name.removeprefix(LIGHT)]
            for at, spec in enumerate(plan.extra):
                if spec.startswith("w:"):
                    written = function.params[int(spec[2:])].number in function.written
                    plan.extra[at] = f"{spec}:{self.grain}" if written else f"v{spec[1:]}:{self.grain}"
                elif spec.startswith("l:"):
                    place, grain = spec.rsplit(":", 1)
                    plan.extra[at] = f"{place}:{min(int(grain), self.local_grain)}"
                elif spec.startswith("u:") and self.blind:
                    plan.extra[at] = spec.replace("u:", "x:")

    def _collect(self) -> None:
        for node in self.tree.declarations:
            if node.kind == "VAR_DECL":
                self._refuse_state(node)
                self.globals[node.number] = node
            if node.kind != "FUNCTION_DECL" or node.name in self.tree.unused:
                continue
            body = next((child for child in node.children if child.kind == "COMPOUND_STMT"), None)
            if body is None:
                continue
            head = self.text[node.start : body.start]
            kernel = KERNEL.search(head) is not None
            params = [child for child in node.children if child.kind == "PARM_DECL"]
            if node.name in self.functions:
                raise Unsupported(f"the function {node.name} is defined twice")
            self.functions[node.name] = Function(node, node.name, kernel, params, body)
        for function in self.functions.values():
            self._study(function)
        changed = True
        while changed:  # a barrier in a helper is one of its callers
            changed = False
            for function in self.functions.values():
                if not function.has_barrier and any(self.functions[name].has_barrier for name in function.calls):
                    function.has_barrier = changed = True

    def _refuse_state(self, variable: Node) -> None:
        """A variable in global memory keeps its value from launch to launch. The program's own kernels, of which some run as they are, and
        the rewritten ones would have one each."""
        own = variable.type.spelling.rpartition("*")[2]
        if qualifier(variable.type) == "g" and not CONST.search(own):
            raise Unsupported(f"the variable {variable.name} keeps its value between launches, and a rewritten kernel would have another")

    def _study(self, function: Function) -> None:
        for param in function.params:
            function.variables[param.number] = param
        for node in function.body.walk():
            if node.kind == "VAR_DECL":
                self._refuse_state(node)
                function.variables[node.number] = node
                init = self.initial(node)
                if init is not None and (self._is_pointer(node) or self._is_struct(node)):
                    function.sources.setdefault(node.number, []).append(init)
            elif node.kind == "BINARY_OPERATOR" and node.operator == "=":
                target = self._bare(node.children[0])
                if target.kind == "DECL_REF_EXPR" and (self._is_pointer(target) or self._is_struct(target)):
                    function.sources.setdefault(target.declared, []).append(node.children[1])
                elif target.kind == "MEMBER_REF_EXPR" and target.children and self._is_pointer(target):
                    function.kept.setdefault((self._variable_of(target.children[0]), target.name), []).append(node.children[1])
            elif node.kind == "UNARY_OPERATOR" and node.operator == "&":
                target = self._bare(node.children[0])
                if target.kind == "DECL_REF_EXPR":
                    function.taken.add(target.declared)
            elif node.kind == "CALL_EXPR":
                name = node.name
                if name in self.functions:
                    if self.functions[name].is_kernel:
                        raise Unsupported(f"the kernel {name} is called like a function")
                    function.calls.add(name)
                    self.calls_of.setdefault(name, []).append((function, node))
                elif name in BARRIERS:
                    function.has_barrier = True
                elif name in FENCES or (LOCKS.match(name) and self._waits(node)):
                    self.fences = True
                elif name in ("enqueue_kernel", "get_kernel_work_group_size"):
                    raise Unsupported("kernels are enqueued on the device")
            elif node.kind == "CSTYLE_CAST_EXPR" and self._is_pointer(node):
                self._study_cast(node)
            elif node.kind in ("BLOCK_EXPR", "LAMBDA_EXPR"):
                raise Unsupported("it has blocks")

    def _waits(self, call: Node) -> bool:
        """Is an atomic function called until it succeeds, always with the same values?"""
        loop = loop_of(call)
        if loop is None or not call.name.endswith("_cmpxchg") or len(call.children) < 3:
            return loop is not None
        expected = [one.declared for one in call.children[2].walk() if one.kind == "DECL_REF_EXPR"]
        own = [one.number for one in loop.walk() if one.kind == "VAR_DECL"]
        return not any(one in own or self._changes(loop, one) for one in expected)

    def _study_cast(self, node: Node) -> None:
        pointer = node.type.get_canonical()
        if space(pointer) in ("l", "x") and pointer.get_pointee().get_canonical().kind.name != "VOID":
            self.local_grain = min(self.local_grain, scalar_bytes(pointer.get_pointee()))

    def _function(self, node: Node, kernels: list[KernelPlan]) -> list[tuple[int, int, str]]:
        """The edits for one declaration."""
        function = self.functions.get(node.name)
        if function is None:
            # No kernel calls it, or it is only declared. A body that stays would call others as they were before.
            return [(body.start, body.end, ";") for body in node.children if body.kind == "COMPOUND_STMT"]
        own = function if node is function.node else None
        params = own.params if own else [child for child in node.children if child.kind == "PARM_DECL"]
        extra, specs = self._extra_parameters(function)
        edits = [self._parameter_edit(node, params, extra, own.body.start if own else node.end)]
        if own is None:
            return edits
        if function.has_barrier and not function.is_kernel:
            edits.append((node.start, node.start, INLINED))
        self.now = function
        self._uniform = Uniformity(self, function) if "barriers" in self.checks and function.has_barrier else None
        self._number_arguments(function)
        self._prover = Prover(self, function) if function.is_kernel else None
        self.places = {}
        body = self.statement(function.body)
        self._find_neighbours(function)
        opening = self._opening(function)
        closing = " gdx_end(gdx);" if function.is_kernel else ""
        edits.append((function.body.start, function.body.end, "{" + opening + body[1:-1] + closing + "}"))
        if function.is_kernel:
            if self.late and {"races", "uninit"} & self.checks:
                edits.append((node.start, node.start, ONE_BY_ONE))
            plan = KernelPlan(function.name, len(function.params), specs, proof=self._proof(function))
            kernels.append(plan)
            if not plan.proof:
                edits += self._light(function, plan, body)
        self.now = None
        return edits

    def _find_neighbours(self, function: Function) -> None:
        """What a race can be with; a program with fences orders its accesses itself."""
        if function.is_kernel and "races" in self.checks and not self.fences:
            Neighbours(self, function, self.places, self.sites).record()

    def _light(self, function: Function, plan: KernelPlan, full: str) -> list[tuple[int, int, str]]:
        """A second kernel without the checks that the sizes of a launch prove, and without following what no two work-items
        share. It runs where the conditions of its proof hold, and is made where it is much cheaper than the `full` one."""
        tracks = bool({"races", "uninit"} & self.checks)
        called = [self.functions[name] for name in function.calls]
        if not self.checks <= PROVABLE or any(self._pointers(one) or self._fields(one) for one in called):
            return []
        prover = Prover(self, function, each=True)
        apart, conditions = Sharing(self, function, prover).apart() if tracks else (set(), [])
        if tracks and not apart:
            return []
        before, first = (function.unchecked, function.checked), len(self.sites)
        self.light, self._prover = apart, prover
        extra, specs = self._extra_parameters(function)
        start, end, new = self._parameter_edit(function.node, function.params, extra, function.body.start)
        head = self.text[function.node.start : start] + new + self.text[end : function.body.start]
        head, renamed = re.subn(rf"\b{re.escape(function.name)}(?=\s*\()", LIGHT + function.name, head)
        self.places = {}
        body = self.statement(function.body)
        self._find_neighbours(function)
        text = f"\n{head}{{{self._opening(function)}{body[1:-1]} gdx_end(gdx);}}\n"
        self.light, self._prover = None, None
        function.unchecked, function.checked = before
        proof = [*prover.conditions, *conditions] or ["1"]
        costly = FOLLOWING if tracks else CHECKING
        cheaper = 2 * len(costly.findall(body)) <= len(costly.findall(full))
        if renamed != 1 or sum(map(len, proof)) > LONGEST or not cheaper:
            del self.sites[first:]
            return []
        plan.light = KernelPlan(LIGHT + function.name, plan.arguments, specs, proof=proof)
        return [(function.node.end, function.node.end, text)]

    def _proof(self, function: Function) -> list[str]:
        """Sizes prove the bounds of accesses, and nothing about what helpers, races or other checks are about."""
        if self._prover is None or function.calls or not self.checks <= PROVABLE:
            return []
        conditions = self._prover.conditions
        if not conditions or not {"races", "uninit"} & self.checks:
            return conditions
        try:
            return [*conditions, *Sharing(self, function, self._prover).conditions()]
        except Unproved:
            return []

    def _counted(self, function: Function) -> tuple[int, int]:
        seen, stack = set(), [function.name]
        while stack:
            name = stack.pop()
            if name not in seen:
                seen.add(name)
                stack += self.functions[name].calls
        return sum(self.functions[n].unchecked for n in seen), sum(self.functions[n].checked for n in seen)

    def _number_arguments(self, function: Function) -> None:
        if not function.is_kernel:
            return
        for at, param in enumerate(function.params):
            self._thing_numbers[("param", param.number)] = len(self.things)
            pointee = param.type.get_canonical().get_pointee()
            where = ARGUMENT_SPACES.get(qualifier(pointee), "global")
            layout = layouts.of(pointee if self._is_pointer(param) else param.type)
            self.things.append(Thing("argument", param.name, function.name, at, element_bytes(pointee), where, layout))

    def _extra_parameters(self, function: Function) -> tuple[str, list[str]]:
        pointers = self._pointers(function)
        if not function.is_kernel:
            fields = (f", gdx_obj gdx_o{at}_{name}" for at, name in self._fields(function))
            return "".join([", __private gdx_ctx *gdx", *(f", gdx_obj gdx_o{at}" for at in pointers), *fields]), []
        specs = ["r"]
        texts = [", __global uint *gdx_r"]
        for at in pointers:
            where = space(function.params[at].type.get_canonical())
            specs.append(f"n:{at}")
            texts.append(f", ulong gdx_n{at}")
            apart = self.light is not None and function.params[at].number in self.light
            if where == "g" and "races" in self.checks and not apart:
                specs.append(f"w:{at}")
                texts.append(f", __global uint *gdx_w{at}")
            if where == "g" and "uninit" in self.checks:
                specs.append(f"u:{at}")
                texts.append(f", __global uchar *gdx_u{at}")
            if where == "l" and {"races", "uninit"} & self.checks:
                specs.append(f"l:{at}:{scalar_bytes(function.params[at].type.get_canonical().get_pointee())}")
                texts.append(f", __local uint *gdx_l{at}")
        return "".join(texts), specs

    def _parameter_edit(self, node: Node, params: list[Node], extra: str, limit: int) -> tuple[int, int, str]:
        if params:
            return params[-1].end, params[-1].end, extra
        match = re.compile(r"\b" + re.escape(node.name) + r"\s*\(\s*(?:void)?\s*\)").search(
            self.text, node.start, limit
        )
        if match is None:
            raise Unsupported(f"the parameters of {node.name} are not understood")
        open_at = self.text.index("(", match.start()) + 1
        return open_at, match.end() - 1, extra.removeprefix(", ")

    def _opening(self, function: Function) -> str:
        if not function.is_kernel:
            return ""
        text = ["gdx_ctx gdx_c; gdx_who gdx_f; __private gdx_ctx *const gdx = &gdx_c; gdx_begin(gdx, &gdx_f, gdx_r);"]
        shadows = []
        for at in self._pointers(function):
            param = function.params[at]
            where = space(param.type.get_canonical())
            number = self._thing_numbers[("param", param.number)]
            if where == "g" and {"races", "uninit"} & self.checks:
                apart = self.light is not None and param.number in self.light
                w = f"gdx_w{at}" if "races" in self.checks and not apart else "0"
                u = f"gdx_u{at}" if "uninit" in self.checks else "0"
                text.append(f"const gdx_obj gdx_o{at} = gdx_glo((ulong){param.name}, gdx_n{at}, {number}u, {w}, {u});")
            elif where == "l" and {"races", "uninit"} & self.checks:
                grain = scalar_bytes(param.type.get_canonical().get_pointee())
                given = f"(ulong){param.name}, gdx_n{at}, {number}u, gdx_l{at}, GDX_GRAIN({grain})"
                text.append(f"const gdx_obj gdx_o{at} = gdx_loc({given});")
                shadows.append(f"gdx_clear(gdx_l{at}, 2u * (uint)(gdx_n{at} / GDX_GRAIN({grain}) + 1u));")
            else:
                text.append(f"const gdx_obj gdx_o{at} = gdx_arr((ulong){param.name}, gdx_n{at}, {number}u);")
        for param in function.params:
            if self._number(param):
                text.append(f"{self._came_in(param, param.name)};")
        for node in function.variables.values():
            if node.kind == "VAR_DECL" and self._shadowed(node):
                number = self.thing(node, "l")
                count = f"2 * ({node.type.get_canonical().get_size()} / GDX_GRAIN({scalar_bytes(node.type)})) + 2"
                text.append(f"__local uint gdx_s{number}[{count}];")
                shadows.append(f"gdx_clear(gdx_s{number}, {count});")
        if function.has_barrier and "barriers" in self.checks:
            text.append("__local uint gdx_v[6]; gdx->v = gdx_v;")
            shadows.append("gdx_clear(gdx_v, 6u);")
        if shadows:
            shadows.append("barrier(CLK_LOCAL_MEM_FENCE);")
        return " ".join([*text, *shadows]) + " "
