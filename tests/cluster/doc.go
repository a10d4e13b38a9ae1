// Package cluster has the tests of the local cluster: what one may rely on, tried on a running one. README.md says
// what is in the folders below.
package cluster
