package cpu

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"
	"testing"
)

// secretCode names functions of a file that get secrets. Neither a branch nor an address in them
// may depend on a secret.
type secretCode struct {
	file string
	// secret are the parameters whose values or elements are secret. A receiver's name means all of
	// its fields except those in public.
	secret, public []string
	functions      []string
	// answers are functions whose result may be public.
	answers []string
	// plants are faults, each of which must be found: a function, a line of it, and the line that
	// replaces it.
	plants [][3]string
}

var secretCodes = []secretCode{
	{
		file: "modulus.go", secret: []string{"k", "x", "y", "z", "t", "e", "f", "g", "b", "a", "carry"}, public: []string{"n"},
		functions: []string{"modulus.radix", "modulus.double", "modulus.power", "modulus.divides", "modulus.product",
			"modulus.remainder", "modulus.add", "modulus.accumulate", "modulus.sub", "modulus.mul", "modulus.sqr", "modulus.reduced",
			"modulus.montgomery", "modulus.toNarrow", "modulus.exp", "modulus.reduce", "modulus.invert",
			"modulus.quotient62", "divisionSteps", "combine", "addSigned", "shift62", "load", "store"},
		answers: []string{"bits"}, // the length of a modulus is public
		plants: [][3]string{
			{"modulus.radix", "x[top/64] = 1 << (top % 64)", "x[k.m[0]%uint64(k.n)] = 1"},
			{"modulus.double", "k.add(x, x, x)", "if x[0] != 0 {\nk.add(x, x, x)\n}"},
			{"modulus.power", "k.sqr(x, x, t)", "if x[0] != 0 {\nk.sqr(x, x, t)\n}"},
			{"modulus.divides", "t[n+i+1] += c", "if c != 0 {\nt[n+i+1]++\n}"},
			{"modulus.product", "k.mul(z, z, k.rr, t)", "if z[0] != 0 {\nk.mul(z, z, k.rr, t)\n}"},
			{"modulus.remainder", "limbs.Subtract(v, v, k.over[0], 0)", "if v[n] != 0 {\nlimbs.Subtract(v, v, k.over[0], 0)\n}"},
			{"modulus.add", "limbs.Subtract(z, z, k.m, carry)", "if carry != 0 {\nlimbs.Subtract(z, z, k.m, carry)\n}"},
			{"modulus.accumulate", "sum[len(t)] += carry", "if carry != 0 {\nsum[len(t)]++\n}"},
			{"modulus.sub", "z[i], borrow = bits.Sub64(x[i], y[i], borrow)",
				"if z[i], borrow = bits.Sub64(x[i], y[i], borrow); borrow != 0 {\ncontinue\n}"},
			{"modulus.mul", "limbs.Mul(t, x[:k.n], y)", "if y[0] != 0 {\nlimbs.Mul(t, x[:k.n], y)\n}"},
			{"modulus.sqr", "limbs.Sqr(t, x[:k.n])", "limbs.Sqr(t, x[:x[0]])"},
			{"modulus.reduced", "limbs.Subtract(z, t[k.n:], k.m, top)", "if top != 0 {\nlimbs.Subtract(z, t[k.n:], k.m, top)\n}"},
			{"modulus.montgomery", "k.mul(z, x, y, t)", "for x[0] != 1 {\nk.mul(z, x, y, t)\n}"},
			{"modulus.toNarrow", "k.mul(z, z, k.narrow, t)", "for z[0] != 1 {\nk.mul(z, z, k.narrow, t)\n}"},
			{"modulus.exp", "pick[l] |= v & same", "pick[l] = table[digit][l]"},
			{"modulus.reduce", "k.add(z, z, part)", "if part[0] != 0 {\nk.add(z, z, part)\n}"},
			{"modulus.invert", "delta, a = divisionSteps(delta, f[0], g[0])",
				"if g[0] == 0 {\nbreak\n}\ndelta, a = divisionSteps(delta, f[0], g[0])"},
			{"modulus.quotient62", "x[k.n+1] += c", "if c != 0 {\nx[k.n+1]++\n}"},
			{"divisionSteps", "odd := -(g & 1)", "odd := -(g & 1)\nif odd == 0 {\ncontinue\n}"},
			{"combine", "addSigned(z, x, a)", "switch a {\ncase 0:\ndefault:\naddSigned(z, x, a)\n}"},
			{"addSigned", "above := size & negative", "above := size & negative\nfor range size {\n}"},
			{"shift62", "z[i] = x[i]>>62 | x[i+1]<<2", "z[i] = x[i]>>62 | x[x[0]]<<2"},
			{"load", "b = b[8:]", "b = b[b[0]:]"},
			{"store", "binary.LittleEndian.PutUint64(b, x[i])", "fmt.Sprint(x[i])"},
		},
	},
	{
		file: "internal/limbs/limbs.go", secret: []string{"t", "x", "y", "z", "m", "minus", "above"}, public: nil,
		functions: []string{"mulAddGeneric", "mulGeneric", "sqrGeneric", "reduceGeneric", "subtractGeneric"},
		plants: [][3]string{
			{"mulAddGeneric", "hi, lo := bits.Mul64(x[i], y)", "hi, lo := bits.Mul64(x[i]%3, y)"},
			{"mulGeneric", "t[n+i] = mulAddGeneric(t[i:i+n], x, v)", "if v != 0 {\nt[n+i] = mulAddGeneric(t[i:i+n], x, v)\n}"},
			{"sqrGeneric", "up = b >> 63", "if up = b >> 63; up != 0 {\ncontinue\n}"},
			{"reduceGeneric", "a := mulAddGeneric(t[i:i+n], m, t[i]*minus)",
				"if t[i] == 0 {\ncontinue\n}\na := mulAddGeneric(t[i:i+n], m, t[i]*minus)"},
			{"subtractGeneric", "whether := -(above | (borrow ^ 1))",
				"if above == 0 && borrow == 1 {\nreturn\n}\nwhether := -(above | (borrow ^ 1))"},
		},
	},
	{
		file: "../../internal/gf2/gf2.go", secret: []string{"x", "y", "z", "t", "l", "h", "v", "top", "scratch", "pad"}, public: nil,
		functions: []string{"Field.Mul", "Field.Sqr", "Field.Inv", "Field.reduce", "Field.reduceOnce",
			"foldGeneric", "above", "xorShifted", "spread",
			"multiplyHalves", "multiplyGeneric", "squareGeneric", "mulAddGeneric", "clmul"},
		answers: []string{"Limbs", "residue"},
		plants: [][3]string{
			{"Field.Mul", "multiply(t, x, y, rest)", "if y[0] != 0 {\nmultiply(t, x, y, rest)\n}"},
			{"Field.Sqr", "t[2*w], t[2*w+1] = 0, 0", "t[x[0]] = 0"},
			{"Field.Inv", "copy(base, x)", "if x[0] == 0 {\nreturn\n}\ncopy(base, x)"},
			{"Field.reduce", "clear(t[limb+1:])", "clear(t[limb+1:])\nif h[0] == 0 {\nbreak\n}"},
			{"Field.reduceOnce", "above(h, t[limb:], bit)", "for h[0] != t[0] {\nabove(h, t[limb:], bit)\n}"},
			{"foldGeneric", "hi, lo := clmul(v^before, tail)", "if v == 0 {\ncontinue\n}\nhi, lo := clmul(v^before, tail)"},
			{"above", "h[i] = t[i]>>bit | t[i+1]<<(64-bit)", "h[i] = t[i]>>bit | t[t[i]]<<(64-bit)"},
			{"multiplyHalves", "middle[i] ^= z[i] ^ z[n+i]", "if z[i] != 0 {\nmiddle[i] ^= z[i] ^ z[n+i]\n}"},
			{"multiplyGeneric", "mulAdd(z[i:i+len(x)+1], x, v)", "if v != 0 {\nmulAdd(z[i:i+len(x)+1], x, v)\n}"},
			{"squareGeneric", "z[2*i], z[2*i+1] = spread(uint32(v)), spread(uint32(v>>32))",
				"if v != 0 {\nz[2*i], z[2*i+1] = spread(uint32(v)), spread(uint32(v>>32))\n}"},
			{"xorShifted", "low = v", "if low = v; low == 0 {\nreturn\n}"},
			{"spread", "x := uint64(v)", "x := uint64(v)\nif x < 2 {\nreturn x\n}"},
			{"mulAddGeneric", "hi, lo := clmul(v, y)", "if y == 0 {\nreturn\n}\nhi, lo := clmul(v, y)"},
			{"clmul", "var h, l uint64", "var h, l uint64\nif xs[k] == 0 {\ncontinue\n}"},
		},
	},
	{ // arith checks signatures by it
		file: "../../arith/internal/mont8/mont8.go", secret: []string{"w", "powers", "x", "d"},
		functions: []string{"Powers.Are", "Powers.load"},
		plants: [][3]string{
			{"Powers.Are", "differ |= v ^ y[i]", "if differ |= v ^ y[i]; differ != 0 {\nbreak\n}"},
			{"Powers.load", "v[k] = uint64(number[word+k])", "if v[k] = uint64(number[word+k]); v[k] == 0 {\ncontinue\n}"},
		},
	},
}

// TestConstantTime checks the Go code that gets secrets, and copies of it with one leak each.
func TestConstantTime(t *testing.T) {
	for _, code := range secretCodes {
		text, err := os.ReadFile(code.file)
		if err != nil {
			t.Fatal(err)
		}
		clean, err := code.leaks(string(text))
		if err != nil || len(clean) > 0 {
			t.Errorf("%s: %q, %v", code.file, clean, err)
		}
		planted := map[string]bool{}
		for _, p := range code.plants {
			where, old, leak := p[0], p[1], p[2]
			planted[where] = true
			head := "func " + where + "("
			if strings.Contains(where, ".") {
				head = "*" + strings.Replace(where, ".", ") ", 1) + "("
			}
			at := strings.Index(string(text), head)
			if at < 0 || !strings.Contains(string(text[at:]), old) {
				t.Errorf("%s: the fault in %s does not fit any more: correct this test", code.file, where)
				continue
			}
			found, err := code.leaks(string(text[:at]) + strings.Replace(string(text[at:]), old, leak, 1))
			if err != nil || !slices.ContainsFunc(found, func(l string) bool { return strings.HasPrefix(l, where+":") }) {
				t.Errorf("%s: a leak planted in %s was not found: %q, %v", code.file, where, found, err)
			}
		}
		for _, f := range code.functions {
			if !planted[f] {
				t.Errorf("%s: no leak is planted in %s", code.file, f)
			}
		}
	}
}

// leaks lists what depends on a secret in the functions, as "function: what". A variable counts as
// secret if anything secret is ever assigned to it.
func (c *secretCode) leaks(text string) (all []string, err error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, c.file, text, 0)
	if err != nil {
		return nil, err
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	// The package's other files are missing, so errors are normal.
	(&types.Config{Error: func(error) {}, Importer: importer.Default()}).Check("p", fset, []*ast.File{file}, info)
	seen := 0
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name := f.Name.Name
		secrets := map[string]bool{}
		if f.Recv != nil {
			star := f.Recv.List[0].Type.(*ast.StarExpr)
			name = star.X.(*ast.Ident).Name + "." + name
			if n := f.Recv.List[0].Names; len(n) > 0 && slices.Contains(c.secret, n[0].Name) && name != "Field."+f.Name.Name {
				secrets[n[0].Name] = true
			}
		}
		if !slices.Contains(c.functions, name) {
			continue
		}
		seen++
		for _, p := range f.Type.Params.List {
			for _, n := range p.Names {
				secrets[n.Name] = slices.Contains(c.secret, n.Name)
			}
		}
		w := &taint{code: c, info: info, secrets: secrets}
		for before := -1; before != w.count(); { // until no more variables become secret
			before = w.count()
			w.found = nil
			w.walk(f.Body)
		}
		for _, l := range w.found {
			all = append(all, name+": "+l)
		}
	}
	if seen != len(c.functions) {
		err = fmt.Errorf("%d of the %d functions are there", seen, len(c.functions))
	}
	return all, err
}

// taint follows secrets through one function.
type taint struct {
	code    *secretCode
	info    *types.Info
	secrets map[string]bool
	found   []string
}

func (w *taint) count() (n int) {
	for _, s := range w.secrets {
		if s {
			n++
		}
	}
	return n
}

// want records a place that must be public and depends on a secret.
func (w *taint) want(public ast.Expr, what string) {
	if public != nil && w.secret(public) {
		w.found = append(w.found, what+" "+types.ExprString(public))
	}
}

// walk examines all statements.
func (w *taint) walk(body ast.Node) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			w.want(n.Cond, "a branch by")
		case *ast.ForStmt:
			w.want(n.Cond, "a loop until")
		case *ast.SwitchStmt:
			w.want(n.Tag, "a switch by")
		case *ast.CaseClause:
			for _, e := range n.List {
				w.want(e, "a case of")
			}
		case *ast.RangeStmt:
			if t := w.info.Types[n.X].Type; t != nil {
				if b, ok := t.Underlying().(*types.Basic); ok && b.Info()&types.IsInteger != 0 {
					w.want(n.X, "a loop over")
					break
				}
			}
			if n.Value != nil && w.secret(n.X) {
				w.taint(n.Value)
			}
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				from := n.Rhs[0]
				if len(n.Rhs) == len(n.Lhs) {
					from = n.Rhs[i]
				}
				if w.secret(from) {
					w.taint(to)
				}
			}
		case *ast.IndexExpr:
			w.want(n.Index, "an address by")
		case *ast.SliceExpr:
			for _, e := range []ast.Expr{n.Low, n.High, n.Max} {
				w.want(e, "a slice to")
			}
		case *ast.BinaryExpr:
			switch n.Op {
			case token.QUO, token.REM:
				w.want(n, "a division")
			case token.LAND, token.LOR:
				w.want(n.X, "a branch by")
			}
		case *ast.CallExpr:
			w.call(n)
		}
		return true
	})
}

// taint makes the variable that an expression writes to secret.
func (w *taint) taint(to ast.Expr) {
	switch to := to.(type) {
	case *ast.Ident:
		w.secrets[to.Name] = true
	case *ast.IndexExpr:
		w.taint(to.X)
	case *ast.SliceExpr:
		w.taint(to.X)
	case *ast.StarExpr:
		w.taint(to.X)
	}
}

// trusted are functions that take the same time for all values. mulAdd, multiply, square and fold
// are gf2's, mul is mont8's, and those of limbs are in assembly.
var trusted = []string{"bits.Mul64", "bits.Add64", "bits.Sub64", "binary.LittleEndian.Uint64", "binary.LittleEndian.Uint32",
	"binary.LittleEndian.PutUint64", "binary.LittleEndian.PutUint32", "slices.Clone", "clear", "copy", "len", "cap", "make", "max", "min",
	"uint64", "int64", "uint32", "mulAdd", "multiply", "square", "fold", "mul", "limbs.MulAdd",
	"limbs.Mul", "limbs.Sqr", "limbs.Reduce", "limbs.Subtract"}

// call allows secrets in calls only of known functions. Slices passed along with secrets become
// secret.
func (w *taint) call(c *ast.CallExpr) {
	name := types.ExprString(c.Fun)
	if strings.HasPrefix(name, "backend.") || name == "len" || name == "cap" {
		return
	}
	if !slices.ContainsFunc(c.Args, w.secret) {
		return
	}
	short := name[strings.LastIndex(name, ".")+1:]
	known := slices.Contains(trusted, name) || slices.Contains(w.code.answers, short) ||
		slices.ContainsFunc(w.code.functions, func(f string) bool { return f[strings.LastIndex(f, ".")+1:] == short })
	if !known {
		w.found = append(w.found, "a call of "+name)
	}
	if short == "copy" || !slices.Contains(trusted, name) ||
		slices.Contains([]string{"mulAdd", "multiply", "square", "fold", "mul"}, name) ||
		strings.HasPrefix(name, "limbs.") || strings.Contains(name, "Put") {
		for _, a := range c.Args {
			if t := w.info.Types[a].Type; t != nil {
				if _, ok := t.Underlying().(*types.Slice); ok {
					w.taint(a)
				}
			}
		}
	}
}

// secret reports whether an expression contains a secret.
func (w *taint) secret(e ast.Expr) bool {
	switch e := e.(type) {
	case nil:
		return false
	case *ast.Ident:
		return w.secrets[e.Name]
	case *ast.ParenExpr:
		return w.secret(e.X)
	case *ast.UnaryExpr:
		return w.secret(e.X)
	case *ast.StarExpr:
		return w.secret(e.X)
	case *ast.BinaryExpr:
		if types.ExprString(e.Y) == "nil" {
			return false // whether it exists is public, its contents are not
		}
		return w.secret(e.X) || w.secret(e.Y)
	case *ast.IndexExpr:
		return w.secret(e.X)
	case *ast.SliceExpr:
		return w.secret(e.X)
	case *ast.SelectorExpr:
		return w.secret(e.X) && !slices.Contains(w.code.public, e.Sel.Name)
	case *ast.CompositeLit:
		return slices.ContainsFunc(e.Elts, w.secret)
	case *ast.CallExpr:
		name := types.ExprString(e.Fun)
		if s, ok := e.Fun.(*ast.SelectorExpr); ok && slices.Contains(w.code.answers, s.Sel.Name) ||
			name == "len" || name == "cap" || strings.HasPrefix(name, "backend.") {
			return false
		}
		return slices.ContainsFunc(e.Args, w.secret)
	}
	return false
}
