package network

import (
	"strings"
	"testing"
)

func TestNumbersAreHandedOutInTurnAndTheTakenOnesSkipped(t *testing.T) {
	r := Ring{First: 2, Last: 4}
	take := func() int {
		t.Helper()
		n, err := r.Take()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if a, b := take(), take(); a != 2 || b != 3 {
		t.Errorf("first %d and %d", a, b)
	}
	r.Release(2)
	if n := take(); n != 4 {
		t.Errorf("2 has just been given back, but it is 4's turn, not %d's", n)
	}
	if n := take(); n != 2 {
		t.Errorf("after the end comes the beginning, not %d", n)
	}
	if n, err := r.Take(); err == nil {
		t.Errorf("all are taken, but there is %d", n)
	}
	r.Release(3)
	if n := take(); n != 3 {
		t.Errorf("only 3 is free, not %d", n)
	}
}

func TestANetworkIsClaimedByOneClusterAtATime(t *testing.T) {
	first, err := NewClaim("") // some network that no cluster uses now
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if _, err := NewClaim(first.Network + ".0.0/16"); err == nil || !strings.Contains(err.Error(), "in use by another local cluster") {
		t.Errorf("claiming %s twice: %v", first.Network, err)
	}
	other, err := NewClaim("")
	if err != nil || other.Network == first.Network {
		t.Fatalf("a second free network is %v, as the first (%v)", other, err)
	}
	other.Close()
	again, err := NewClaim(other.Network + ".0.0/16")
	if err != nil {
		t.Fatalf("a network that was given back cannot be claimed: %v", err)
	}
	again.Close()
}

func TestAConfiguredPortIsTaken(t *testing.T) {
	claim := Claim{Network: "127.100"}
	if port := claim.ServerPort(8443); port != 8443 {
		t.Errorf("port %d", port)
	}
}
