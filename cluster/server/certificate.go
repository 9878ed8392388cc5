package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"slices"
	"sync/atomic"
	"time"
)

// validity is how long a certificate is valid. It begins a day early, for clocks that are behind. A
// certificate is renewed when it ends within renewBefore. The new one has the same key, so that
// whoever trusts the old one accepts it. Tickets must be replaced within that time.
const (
	validity    = 5 * 365 * 24 * time.Hour
	renewBefore = 365 * 24 * time.Hour
)

// looksAtCertificate is how often a server checks whether its certificate must be renewed.
const looksAtCertificate = time.Hour

// lasts reports whether the certificate is valid until then. With peers it must also allow the
// server to connect to others.
func (id *identity) lasts(until time.Time, peers bool) bool {
	block, _ := pem.Decode([]byte(id.Certificate))
	if block == nil {
		return false
	}
	c, err := x509.ParseCertificate(block.Bytes)
	return err == nil && until.Before(c.NotAfter) && (!peers || slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageClientAuth))
}

// key returns the private key of the certificates, or a new one if there is none.
func (id *identity) key() (*ecdsa.PrivateKey, error) {
	if block, _ := pem.Decode([]byte(id.Key)); block != nil {
		if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			if own, is := key.(*ecdsa.PrivateKey); is {
				return own, nil
			}
		}
	}
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}

// certify makes a certificate that vouches for itself and for later ones with the same key. Tickets
// contain it, and their holders trust nothing else.
func (id *identity) certify(hosts []string, now time.Time) error {
	key, err := id.key()
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return err
	}
	c := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "pippin cluster"},
		NotBefore: now.AddDate(0, 0, -1), NotAfter: now.Add(validity),
		// A server is a client of its peers.
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{
			x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth,
		},
		BasicConstraintsValid: true, IsCA: true,
		// The URI is different in each certificate: one does not vouch for another that has the
		// same subject, key and names.
		URIs: []*url.URL{{Scheme: "urn", Opaque: "pippin-cluster:" + serial.Text(16)}},
	}
	for _, h := range hosts {
		h = hostOf(h)
		if ip := net.ParseIP(h); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	id.Hosts = hosts
	id.Certificate = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	id.Key = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	return nil
}

// shown is the certificate that a server shows to new connections.
type shown struct {
	atomic.Pointer[tls.Certificate]
}

// set shows the certificate of an identity from now on.
func (s *shown) set(id *identity) error {
	c, err := tls.X509KeyPair([]byte(id.Certificate), []byte(id.Key))
	if err != nil {
		return err
	}
	s.Store(&c)
	return nil
}

// config returns a configuration in which each connection shows the certificate that is current
// when it begins. If roots is not nil, each side must show a certificate for which roots vouch.
func (s *shown) config(roots *x509.CertPool) *tls.Config {
	plain := func() *tls.Config {
		c := &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{*s.Load()}, RootCAs: roots, ClientCAs: roots}
		if roots != nil {
			c.ClientAuth = tls.RequireAndVerifyClientCert
		}
		return c
	}
	c := plain()
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return plain(), nil }
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return s.Load(), nil }
	return c
}

// renew replaces the certificate if it ends soon. New connections show the new one, and the tickets
// are written again with it.
func (s *Server) renew(now time.Time) error {
	if !s.secure || s.id.lasts(now.Add(renewBefore), s.replicas > 1) {
		return nil
	}
	next := *s.id
	if err := next.certify(next.Hosts, now); err != nil {
		return err
	}
	if err := next.write(s.dir); err != nil {
		return err
	}
	if err := s.certificate.set(&next); err != nil {
		return err
	}
	s.id = &next
	if s.log != nil {
		s.log.Warn("cluster: the certificate was renewed: replace the tickets of clients and workers within a year")
	}
	return s.writeTickets()
}

// renewing calls renew each looksAtCertificate, until the server stops.
func (s *Server) renewing() {
	tick := time.NewTicker(looksAtCertificate)
	defer tick.Stop()
	for {
		select {
		case <-s.stopped:
			return
		case now := <-tick.C:
			if err := s.renew(now); err != nil && s.log != nil {
				s.log.Error("cluster: the certificate is not renewed", "problem", err)
			}
		}
	}
}
