package proofserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/prover/circom"
)

// answer writes a value as JSON.
func answer(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b) // a caller that has gone gets nothing
}

// refuse writes an error.
func refuse(w http.ResponseWriter, status int, err error) {
	answer(w, status, map[string]string{"error": text(err)})
}

// text returns an error in a line.
func text(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// statusOf returns whose fault an error is, as HTTP says it.
func statusOf(err error) int {
	if errors.Is(err, backend.ErrInvalidInput) || errors.Is(err, circom.ErrNotVerified) {
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

// proofData is a proof in rapidsnark's form.
type proofData struct {
	A        []string   `json:"pi_a"`
	B        [][]string `json:"pi_b"`
	C        []string   `json:"pi_c"`
	Protocol string     `json:"protocol"`
}

// files returns a proof and its public signals in rapidsnark's form.
func files(p *circom.Proof) (*proofData, []string, error) {
	b, err := p.JSON()
	if err != nil {
		return nil, nil, err
	}
	data := new(proofData)
	if err := json.Unmarshal(b, data); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", backend.ErrInternal, err)
	}
	public := make([]string, len(p.Public))
	for i, v := range p.Public {
		public[i] = v.String()
	}
	return data, public, nil
}

// answerProof writes a proof as go-rapidsnark's type ZKProof.
func answerProof(w http.ResponseWriter, p *circom.Proof) {
	data, public, err := files(p)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	answer(w, http.StatusOK, map[string]any{"proof": data, "pub_signals": public})
}

// answerStatus writes a proof as rapidsnark's server does: JSON in texts in JSON.
func answerStatus(w http.ResponseWriter, p *circom.Proof) {
	data, public, err := files(p)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	one, err1 := json.Marshal(data)
	two, err2 := json.Marshal(public)
	if err := errors.Join(err1, err2); err != nil {
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	answer(w, http.StatusOK, map[string]string{"status": success, "proof": string(one), "pubData": string(two)})
}
