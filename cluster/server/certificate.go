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

// validity is that of certificates. They begin a day early, for clocks that go wrong. They are
// renewed renewBefore their end, with the same key, so that whoever has the one before still
// takes the new one: tickets are to be replaced within that time.
const (
	validity    = 5 * 365 * 24 * time.Hour
	renewBefore = 365 * 24 * time.Hour
)

// looksAtCertificate is how often a server looks whether its certificate is to be renewed.
const looksAtCertificate = time.Hour

// lasts reports whether the certificate is valid until then, also for a server that speaks
// to peers.
func (id *identity) lasts(until time.Time, peers bool) bool {
	block, _ := pem.Decode([]byte(id.Certificate))
	if block == nil {
		return false
	}
	c, err := x509.ParseCertificate(block.Bytes)
	return err == nil && until.Before(c.NotAfter) && (!peers || slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageClientAuth))
}

// key returns the private key of the certificates, a new one if there is none.
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

// certify makes a certificate that vouches for itself, and for later ones of its key. Tickets
// have it, and nothing else is trusted by their holders.
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
		// servers are clients of each other
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{
			x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth,
		},
		BasicConstraintsValid: true, IsCA: true,
		// One of them would not vouch for another that had its subject, key and names alike.
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

// shown is the certificate that a server shows now.
type shown struct {
	atomic.Pointer[tls.Certificate]
}

// set takes that of an identity.
func (s *shown) set(id *identity) error {
	c, err := tls.X509KeyPair([]byte(id.Certificate), []byte(id.Key))
	if err != nil {
		return err
	}
	s.Store(&c)
	return nil
}

// config returns a configuration whose connections show what is shown when they begin. If
// roots is not nil both sides show a certificate that roots vouch for.
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

// renew makes the certificate anew if it ends soon, shows it from the next connection on, and
// writes it into the tickets.
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

// renewing renews the certificate when it is time, until the server stops.
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
