package circom

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"

	"github.com/consensys/gnark-crypto/ecc"

	"github.com/pippin-zk/pippin/backend"
)

// protocol is how the files name Groth16.
const protocol = "groth16"

// proofFile is a proof.json. The order of the fields is that of the file.
type proofFile struct {
	A        []string   `json:"pi_a"`
	B        [][]string `json:"pi_b"`
	C        []string   `json:"pi_c"`
	Protocol string     `json:"protocol"`
	Curve    string     `json:"curve"`
}

// keyFile is a verification_key.json.
type keyFile struct {
	Protocol  string       `json:"protocol"`
	Curve     string       `json:"curve"`
	Public    int          `json:"nPublic"`
	Alpha     []string     `json:"vk_alpha_1"`
	Beta      [][]string   `json:"vk_beta_2"`
	Gamma     [][]string   `json:"vk_gamma_2"`
	Delta     [][]string   `json:"vk_delta_2"`
	AlphaBeta [][][]string `json:"vk_alphabeta_12"`
	IC        [][]string   `json:"IC"`
}

// JSON returns the proof without its public signals, byte for byte as snarkjs writes its
// proof.json.
func (p *Proof) JSON() ([]byte, error) {
	c, err := p.check()
	if err != nil {
		return nil, err
	}
	return indented(&proofFile{A: p.A.texts(), B: p.B.texts(), C: p.C.texts(), Protocol: protocol, Curve: nameOf(c)})
}

// PublicJSON returns the public signals, byte for byte as snarkjs writes its public.json.
func (p *Proof) PublicJSON() ([]byte, error) {
	c, err := p.check()
	if err != nil {
		return nil, err
	}
	if err := checkPublic(c, p.Public); err != nil {
		return nil, err
	}
	if len(p.Public) == 0 {
		return []byte("[\n]"), nil // snarkjs's writer ends the line before it knows that nothing comes
	}
	return indented(texts(p.Public))
}

// JSON returns the key byte for byte as snarkjs writes its verification_key.json.
func (vk *VerifyingKey) JSON() ([]byte, error) {
	c, err := vk.check()
	if err != nil {
		return nil, err
	}
	alphaBeta, err := vk.alphaBeta(c)
	if err != nil {
		return nil, err
	}
	f := &keyFile{
		Protocol: protocol, Curve: nameOf(c), Public: len(vk.IC) - 1, AlphaBeta: alphaBeta,
		Alpha: vk.Alpha.texts(), Beta: vk.Beta.texts(), Gamma: vk.Gamma.texts(), Delta: vk.Delta.texts(),
	}
	for i := range vk.IC {
		f.IC = append(f.IC, vk.IC[i].texts())
	}
	return indented(f)
}

// alphaBeta returns the pairing of alpha and beta as the file has it.
func (vk *VerifyingKey) alphaBeta(c backend.Curve) (all [][][]string, err error) {
	alpha, err := groupBytes(c, backend.G1, vk.Alpha.coordinates())
	if err != nil {
		return nil, refuse("vk_alpha_1: %w", err)
	}
	beta, err := groupBytes(c, backend.G2, vk.Beta.coordinates())
	if err != nil {
		return nil, refuse("vk_beta_2: %w", err)
	}
	e, err := pair(c, alpha, beta)
	if err != nil {
		return nil, err
	}
	for ; len(e) > 0; e = e[6:] {
		all = append(all, [][]string{texts(e[:2]), texts(e[2:4]), texts(e[4:6])})
	}
	return all, nil
}

// groupBytes returns a point in memory layout. A point that is not in its group is an error.
func groupBytes(c backend.Curve, g backend.Group, coordinates []*big.Int) ([]byte, error) {
	b, err := pointBytes(c, coordinates)
	if err != nil {
		return nil, err
	}
	return b, inGroup(c, g, b)
}

// snarkjsCurve returns a curve that snarkjs has, by gnark-crypto's number.
func snarkjsCurve(id ecc.ID) (backend.Curve, error) {
	c, ok := curveOf(id)
	if !ok {
		return 0, fmt.Errorf("%w: snarkjs has no curve %s", backend.ErrUnsupported, id)
	}
	return c, nil
}

// nameOf returns snarkjs's name of a curve.
func nameOf(c backend.Curve) string {
	if c == backend.BLS12381 {
		return "bls12381"
	}
	return "bn128"
}

// check returns the curve of a proof whose points are numbers of it. It does not look whether they
// are on it.
func (p *Proof) check() (backend.Curve, error) {
	c, err := snarkjsCurve(p.Curve)
	if err != nil {
		return 0, err
	}
	return c, checkNumbers(c, map[string][]*big.Int{"pi_a": p.A.coordinates(), "pi_b": p.B.coordinates(), "pi_c": p.C.coordinates()})
}

// check does the same for a key.
func (vk *VerifyingKey) check() (backend.Curve, error) {
	c, err := snarkjsCurve(vk.Curve)
	if err != nil {
		return 0, err
	}
	if len(vk.IC) == 0 {
		return 0, refuse("IC: no point, the first of which is for the constant 1")
	}
	all := map[string][]*big.Int{
		"vk_alpha_1": vk.Alpha.coordinates(), "vk_beta_2": vk.Beta.coordinates(),
		"vk_gamma_2": vk.Gamma.coordinates(), "vk_delta_2": vk.Delta.coordinates(),
	}
	for i := range vk.IC {
		all[fmt.Sprintf("IC[%d]", i)] = vk.IC[i].coordinates()
	}
	return c, checkNumbers(c, all)
}

// checkNumbers refuses numbers that are not of the base field.
func checkNumbers(c backend.Curve, all map[string][]*big.Int) error {
	q := c.BaseField()
	for place, numbers := range all {
		for _, v := range numbers {
			if !below(v, q) {
				return refuse("%s: not below q", place)
			}
		}
	}
	return nil
}

// checkPublic refuses signals that are not of the scalar field.
func checkPublic(c backend.Curve, public []*big.Int) error {
	r := c.ScalarField()
	for i, v := range public {
		if !below(v, r) {
			return refuse("public signal %d: not below r", i)
		}
	}
	return nil
}

func below(v, modulus *big.Int) bool { return v != nil && v.Sign() >= 0 && v.Cmp(modulus) < 0 }

// refuse returns an error for input that is wrong.
func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %w", backend.ErrInvalidInput, fmt.Errorf(format, args...))
}

// indented returns JSON as JavaScript's JSON.stringify(v, null, 1) does.
func indented(v any) ([]byte, error) {
	line, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrInternal, err)
	}
	var b bytes.Buffer
	err = json.Indent(&b, line, "", " ")
	return b.Bytes(), err
}

// texts returns a point in the projective coordinates of the files.
func (p G1) texts() []string {
	if isInfinity(p.coordinates()) {
		return []string{"0", "1", "0"}
	}
	return append(texts(p.coordinates()), "1")
}

// texts returns a point in the projective coordinates of the files.
func (p G2) texts() [][]string {
	if isInfinity(p.coordinates()) {
		return [][]string{{"0", "0"}, {"1", "0"}, {"0", "0"}}
	}
	return [][]string{texts(p.X[:]), texts(p.Y[:]), {"1", "0"}}
}

// isInfinity reports whether these are the coordinates of infinity.
func isInfinity(coordinates []*big.Int) bool {
	return !slices.ContainsFunc(coordinates, func(v *big.Int) bool { return v == nil || v.Sign() != 0 })
}

func texts(numbers []*big.Int) []string {
	all := make([]string, len(numbers))
	for i, v := range numbers {
		all[i] = v.String()
	}
	return all
}
