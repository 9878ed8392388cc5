// Package proofs has the measurements that link gnark's provers: proofs, first proofs, keys,
// ceremonies and Ethereum's cells. It is apart from package bench so that a program which
// measures none of them need not compile gnark.
package proofs
