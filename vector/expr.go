package vector

import "github.com/pippin-zk/pippin/backend"

// Expr is an expression over vectors, of which Program.Map computes each element
// in one step. It is a value that may be used in several places: what is shared is
// computed once where that pays. The zero value is the constant 0.
type Expr[E comparable] struct{ n *node[E] }

// node is an operation of backend.MapOp on the nodes left and right.
type node[E comparable] struct {
	op          backend.MapOp
	left, right *node[E]
	view        View[E] // of MapLoad
	constant    E       // of MapConst
}

// Const returns an expression that is the same element everywhere.
func Const[E comparable](e E) Expr[E] { return Expr[E]{&node[E]{op: backend.MapConst, constant: e}} }

// node returns the node of x.
func (x Expr[E]) node() *node[E] {
	if x.n == nil {
		return &node[E]{op: backend.MapConst}
	}
	return x.n
}

func (x Expr[E]) unary(op backend.MapOp) Expr[E] {
	return Expr[E]{&node[E]{op: op, left: x.node()}}
}

func (x Expr[E]) binary(op backend.MapOp, y Expr[E]) Expr[E] {
	return Expr[E]{&node[E]{op: op, left: x.node(), right: y.node()}}
}

// Add returns x + y.
func (x Expr[E]) Add(y Expr[E]) Expr[E] { return x.binary(backend.MapAdd, y) }

// Sub returns x - y.
func (x Expr[E]) Sub(y Expr[E]) Expr[E] { return x.binary(backend.MapSub, y) }

// Mul returns x y.
func (x Expr[E]) Mul(y Expr[E]) Expr[E] {
	if x.n != nil && x.n == y.n {
		return x.Square()
	}
	return x.binary(backend.MapMul, y)
}

// Scale returns k x.
func (x Expr[E]) Scale(k E) Expr[E] { return x.Mul(Const(k)) }

// Square returns x^2.
func (x Expr[E]) Square() Expr[E] { return x.unary(backend.MapSquare) }

// Double returns 2 x.
func (x Expr[E]) Double() Expr[E] { return x.unary(backend.MapDouble) }

// Neg returns -x.
func (x Expr[E]) Neg() Expr[E] { return x.unary(backend.MapNeg) }
