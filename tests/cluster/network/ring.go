// Package network hands out loopback addresses.
package network

import (
	"errors"
	"slices"
)

// Ring hands out the numbers First to Last in turn, skipping the taken ones, so that an address that was
// released is not soon used again.
type Ring struct {
	First, Last int
	next        int
	taken       []int
}

// Take returns a free number.
func (r *Ring) Take() (int, error) {
	for range r.Last - r.First + 1 {
		number := max(r.next, r.First)
		r.next = number + 1
		if r.next > r.Last {
			r.next = r.First
		}
		if !slices.Contains(r.taken, number) {
			r.taken = append(r.taken, number)
			return number, nil
		}
	}
	return 0, errors.New("no address is left")
}

// Release makes a number free again.
func (r *Ring) Release(number int) {
	r.taken = slices.DeleteFunc(r.taken, func(n int) bool { return n == number })
}
