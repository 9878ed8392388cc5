package vector

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/layout"
)

// Compiling an expression to the stack code of backend.Map.
//
// Equal nodes are made one, so that what is compiled is a graph. A node with
// several users is shared when that is cheaper than computing it again: it is
// computed before the node d through which all ways to it go (its dominator),
// stays on the stack below d, and its users copy it. Afterwards it lies under d's
// value, and the stack has no operation to take it away; but
//
//	s d | copy s | s d s | sub | s d-s | add | d
//
// does, for two additions. When the shared node is d's own left operand it is used
// up instead, at no cost.

// What operations cost, in about the time of an addition; and what it costs to
// share a node, beside a copy for each user.
const (
	costAdd   = 2
	costMul   = 16
	costLoad  = 2
	costCopy  = 1
	costShare = 2*costAdd + costCopy
	maxCost   = 1 << 30
)

// graphNode is a node of the graph. Its operands stand before it.
type graphNode struct {
	op       backend.MapOp
	operands []int
	arg      int // of MapLoad and MapConst

	users  int
	dom    int // the nearest node through which all ways from the root go
	cost   int // of computing it and all below it
	depth  int // of the stack that this takes, without sharing
	shared bool
}

// compiler makes the code of one expression.
type compiler[E comparable] struct {
	operand   func(View[E]) backend.Operand
	args      []backend.Operand
	constants []E
	views     []View[E] // of args, for their errors

	nodes []graphNode
	seen  map[*node[E]]int
	known map[graphKey]int

	code    []backend.MapCode
	height  int // of the stack
	highest int
	at      map[int]int // where on the stack shared nodes are
}

// graphKey is all that makes two nodes equal.
type graphKey struct {
	op               backend.MapOp
	left, right, arg int
}

// compile makes the code of x.
func compile[E comparable](x Expr[E]) (*compiler[E], error) {
	return compileWith(x, View[E].operand)
}

// compileWith does what compile does, with another way from views to operands.
func compileWith[E comparable](x Expr[E], operand func(View[E]) backend.Operand) (*compiler[E], error) {
	c := &compiler[E]{operand: operand, seen: map[*node[E]]int{}, known: map[graphKey]int{}, at: map[int]int{}}
	root, err := c.add(x.node())
	if err != nil {
		return nil, err
	}
	c.analyse()
	for {
		c.code, c.height, c.highest = c.code[:0], 0, 0
		c.emit(root)
		if len(c.code) <= backend.MapCodes && c.highest <= backend.MapStack && c.height == 1 {
			return c, nil
		}
		if !c.shareLess() {
			return nil, fmt.Errorf("%w: an expression of %d operations on a stack of %d, a step has %d and %d: compute it in parts",
				backend.ErrInvalidInput, len(c.code), c.highest, backend.MapCodes, backend.MapStack)
		}
	}
}

// maxNodes bounds a graph: no step has code for more.
const maxNodes = 1 << 12

// add puts a node and its operands into the graph.
func (c *compiler[E]) add(n *node[E]) (int, error) {
	if i, ok := c.seen[n]; ok {
		return i, nil
	}
	g, key := graphNode{op: n.op}, graphKey{op: n.op, left: -1, right: -1}
	switch n.op {
	case backend.MapLoad:
		if err := n.view.v.Err(); err != nil {
			return 0, err
		}
		g.arg = indexIn(&c.args, c.operand(n.view))
		if g.arg == len(c.views) {
			c.views = append(c.views, n.view)
		}
		g.cost, g.depth = costLoad, 1
	case backend.MapConst:
		g.arg = indexIn(&c.constants, n.constant)
		g.cost, g.depth = costCopy, 1
	default:
		left, err := c.add(n.left)
		if err != nil {
			return 0, err
		}
		g.operands, key.left = []int{left}, left
		g.cost, g.depth = c.nodes[left].cost, c.nodes[left].depth
		if n.right != nil {
			right, err := c.add(n.right)
			if err != nil {
				return 0, err
			}
			g.operands, key.right = append(g.operands, right), right
			g.cost += c.nodes[right].cost
			if d := c.nodes[right].depth; d == g.depth {
				g.depth++
			} else {
				g.depth = max(d, g.depth)
			}
		}
		if g.cost += costAdd; n.op == backend.MapMul || n.op == backend.MapSquare {
			g.cost += costMul - costAdd
		}
		g.cost = min(g.cost, maxCost)
	}
	key.arg = g.arg
	i, ok := c.known[key]
	if !ok {
		i = len(c.nodes)
		c.nodes = append(c.nodes, g)
		c.known[key] = i
	}
	if len(c.nodes) > maxNodes || len(c.args) > backend.MapArgs || len(c.constants) > backend.MapConstants {
		return 0, fmt.Errorf("%w: an expression of more than %d nodes, %d operands or %d constants: compute it in parts",
			backend.ErrInvalidInput, maxNodes, backend.MapArgs, backend.MapConstants)
	}
	c.seen[n] = i
	return i, nil
}

// indexIn returns the index of v in a list, at whose end it puts v if it is new.
func indexIn[T comparable](list *[]T, v T) int {
	i := slices.Index(*list, v)
	if i < 0 {
		i = len(*list)
		*list = append(*list, v)
	}
	return i
}

// analyse finds dominators, and what is worth sharing. The root is the last node.
func (c *compiler[E]) analyse() {
	for i := range c.nodes {
		c.nodes[i].dom = -1
	}
	root := len(c.nodes) - 1
	c.nodes[root].dom = root
	for i := root; i >= 0; i-- {
		for _, o := range c.nodes[i].operands {
			n := &c.nodes[o]
			if n.users++; n.dom < 0 {
				n.dom = i
			}
			for a := i; n.dom != a; { // up to where the ways meet
				if a < n.dom {
					a = c.nodes[a].dom
				} else {
					n.dom = c.nodes[n.dom].dom
				}
			}
		}
	}
	for i := range c.nodes {
		n := &c.nodes[i]
		n.shared = c.gain(i) > 0
	}
}

// gain returns what sharing a node saves.
func (c *compiler[E]) gain(i int) int {
	n := &c.nodes[i]
	return (n.users-1)*(n.cost-costCopy) - costShare
}

// shareLess gives up the sharing that saves the least.
func (c *compiler[E]) shareLess() bool {
	least := -1
	for i := range c.nodes {
		if c.nodes[i].shared && (least < 0 || c.gain(i) < c.gain(least)) {
			least = i
		}
	}
	if least >= 0 {
		c.nodes[least].shared = false
	}
	return least >= 0
}

// push adds an operation that makes the stack grow by that much.
func (c *compiler[E]) push(op backend.MapOp, arg, grow int) {
	c.code = append(c.code, backend.MapCode{Op: op, Arg: arg})
	c.height += grow
	c.highest = max(c.highest, c.height)
}

// copyOf copies a shared node to the top.
func (c *compiler[E]) copyOf(i int) { c.push(backend.MapCopy, c.height-1-c.at[i], 1) }

// emit puts the value of a node on the stack.
func (c *compiler[E]) emit(i int) {
	if len(c.code) > 2*backend.MapCodes {
		return // too long already; without this a graph is as large as its tree
	}
	if _, there := c.at[i]; there {
		c.copyOf(i)
		return
	}
	n := &c.nodes[i]
	shared, direct := c.sharedBy(i)
	for _, s := range shared {
		c.emit(s)
		c.at[s] = c.height - 1
	}
	switch {
	case len(n.operands) == 0:
		c.push(n.op, n.arg, 1)
	case len(n.operands) == 1:
		c.emit(n.operands[0])
		c.push(n.op, 0, 0)
	default:
		first, second := n.operands[0], n.operands[1]
		swap := direct == second || direct < 0 && c.nodes[second].depth > c.nodes[first].depth
		if swap {
			first, second = second, first
		}
		if direct < 0 {
			c.emit(first)
		}
		c.emit(second)
		if c.push(n.op, 0, -1); swap && n.op == backend.MapSub {
			c.push(backend.MapNeg, 0, 0)
		}
	}
	if direct >= 0 { // used up
		delete(c.at, direct)
		shared = shared[:len(shared)-1]
	}
	for _, s := range slices.Backward(shared) {
		c.copyOf(s)
		c.push(backend.MapSub, 0, -1)
		c.push(backend.MapAdd, 0, -1)
		delete(c.at, s)
	}
}

// sharedBy returns the shared nodes that are computed before node i, those that others of
// them need first. direct is the last of them when it is an operand of i, else -1.
func (c *compiler[E]) sharedBy(i int) (shared []int, direct int) {
	for s := range i {
		if n := &c.nodes[s]; n.shared && n.dom == i {
			shared = append(shared, s)
		}
	}
	operands := c.nodes[i].operands
	if len(shared) == 0 || len(operands) < 2 {
		return shared, -1
	}
	// An operand that no other shared node needs may be the last.
	free := func(s int) bool {
		return slices.Contains(operands, s) && !slices.ContainsFunc(shared, func(t int) bool { return t != s && c.reaches(t, s) })
	}
	slices.SortStableFunc(shared, func(a, b int) int { return cmp.Compare(boolInt(free(a)), boolInt(free(b))) })
	if last := shared[len(shared)-1]; free(last) {
		return shared, last
	}
	return shared, -1
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// reaches reports whether node s is below t.
func (c *compiler[E]) reaches(t, s int) bool {
	below := map[int]bool{t: true}
	for i := t; i > s; i-- { // operands stand before
		if below[i] {
			for _, o := range c.nodes[i].operands {
				below[o] = true
			}
		}
	}
	return below[s]
}

// step returns the code as a Map to dst.
func (c *compiler[E]) step(dst backend.Operand, count int) backend.Map {
	return backend.Map{
		Count: count, Dst: dst, Args: c.args, Constants: layout.Bytes(c.constants), Code: slices.Clone(c.code),
	}
}
