package wire

import (
	"crypto/hpke"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pippin-zk/pippin/backend"
)

// The suite that witnesses are sealed with, by RFC 9180: each seal makes a key of its
// own and wraps it for the workers. The wrapping stays closed to whoever keeps the
// bytes until there are quantum computers.
var (
	kem  = hpke.MLKEM768X25519()
	kdf  = hpke.HKDFSHA256()
	aead = hpke.AES256GCM()
)

// NewSealing makes the two keys of a cluster's workers, as text: with the first
// witnesses are sealed, with the second opened.
func NewSealing() (seal, open string, err error) {
	k, err := kem.GenerateKey()
	if err != nil {
		return "", "", err
	}
	private, err := k.Bytes()
	if err != nil {
		return "", "", err
	}
	return base64.StdEncoding.EncodeToString(k.PublicKey().Bytes()), base64.StdEncoding.EncodeToString(private), nil
}

// SealingKey seals witnesses. It is safe for concurrent use.
type SealingKey struct{ k hpke.PublicKey }

// OpeningKey opens witnesses. It is safe for concurrent use.
type OpeningKey struct{ k hpke.PrivateKey }

// ReadSealing reads a key to seal with, once for all witnesses: that takes a seventh
// of the time of sealing a small one.
func ReadSealing(key string) (*SealingKey, error) {
	raw, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		return nil, badKey(err)
	}
	k, err := kem.NewPublicKey(raw)
	if err != nil {
		return nil, badKey(err)
	}
	return &SealingKey{k}, nil
}

// Seal compresses and encrypts a witness for one job.
func (s *SealingKey) Seal(id string, w Work, plain []byte) ([]byte, error) {
	packed := s2.Encode(nil, plain)
	defer clear(packed)
	return hpke.Seal(s.k, kdf, aead, info(id, w), packed)
}

// ReadOpening reads a key to open with, once for all witnesses: that takes nearly as
// long as opening a small one.
func ReadOpening(key string) (*OpeningKey, error) {
	raw, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		return nil, badKey(err)
	}
	defer clear(raw)
	k, err := kem.NewPrivateKey(raw)
	if err != nil {
		return nil, badKey(err)
	}
	return &OpeningKey{k}, nil
}

// ErrSealed is wrapped by the error of a witness that was sealed for others.
var ErrSealed = errors.New("the witness was not sealed for this job and this worker: are the client's " +
	"ticket and the worker's of one cluster?")

// fingerprintKey is where the metadata of the stream of notes has the fingerprint of the key
// that witnesses are sealed with.
const fingerprintKey = "pippin_seal"

// Fingerprint returns the fingerprint of a key to seal with.
func Fingerprint(seal string) string {
	sum := sha256.Sum256([]byte(seal))
	return hex.EncodeToString(sum[:])
}

// Fingerprint returns the fingerprint of the key to seal with that belongs to o.
func (o *OpeningKey) Fingerprint() string {
	return Fingerprint(base64.StdEncoding.EncodeToString(o.k.PublicKey().Bytes()))
}

// SetFingerprint writes the cluster's fingerprint into the configuration of the stream of
// notes and returns the one that was there, "" if there was none.
func SetFingerprint(cfg *jetstream.StreamConfig, old map[string]string, fingerprint string) string {
	if fingerprint == "" {
		fingerprint = old[fingerprintKey]
	}
	if fingerprint != "" {
		cfg.Metadata = map[string]string{fingerprintKey: fingerprint}
	}
	return old[fingerprintKey]
}

// checkFingerprint compares the fingerprint of a ticket's key with the cluster's, as far as the
// cluster has one.
func checkFingerprint(cluster, ticket string) error {
	if cluster != "" && cluster != ticket {
		return fmt.Errorf("%w: the ticket's key for witnesses is another cluster's: copy the ticket from the server's folder again",
			backend.ErrInvalidInput)
	}
	return nil
}

// Open returns the witness that was sealed for the job. The caller wipes it. The error is
// ErrSealed if the client's or the worker's key belongs to another cluster. A witness that
// has other than size bytes is refused before memory is taken for it, unless size is
// negative.
func (o *OpeningKey) Open(id string, w Work, sealed []byte, size int) ([]byte, error) {
	packed, err := hpke.Open(o.k, kdf, aead, info(id, w), sealed)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSealed, err)
	}
	defer clear(packed)
	if n, err := s2.DecodedLen(packed); err == nil && size >= 0 && n != size {
		return nil, fmt.Errorf("%w: the witness has %d bytes, those of its circuit have %d", backend.ErrInvalidInput, n, size)
	}
	plain, err := s2.Decode(nil, packed)
	if err != nil {
		return nil, fmt.Errorf("%w: the witness: %w", backend.ErrInvalidInput, err)
	}
	return plain, nil
}

func badKey(err error) error {
	return fmt.Errorf("%w: the ticket's key for witnesses: %w", backend.ErrInvalidInput, err)
}

// info binds a witness to its job: moved to another one it does not open.
func info(id string, w Work) []byte {
	text, err := json.Marshal(struct {
		What, ID string
		Work     Work
	}{"pippin witness 1", id, w})
	if err != nil {
		panic(err) // strings and booleans
	}
	return text
}
