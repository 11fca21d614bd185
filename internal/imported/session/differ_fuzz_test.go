package session_test

import (
	"math/rand/v2"
	"testing"
)

// TestRandomGraphs: eager, session and engine agree on graphs of up to four ops, and on which ones they refuse.
func TestRandomGraphs(t *testing.T) {
	rounds := 4000
	if testing.Short() {
		rounds = 60
	}
	r := rand.New(rand.NewPCG(13, 6))
	for range rounds {
		differ(t, draw(randomBytes(r)))
	}
}

func randomBytes(r *rand.Rand) []byte {
	data := make([]byte, 200)
	for i := range data {
		data[i] = byte(r.IntN(256))
	}
	return data
}

// FuzzImplementations: see TestRandomGraphs.
func FuzzImplementations(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 64 {
		f.Add(randomBytes(r))
	}
	f.Fuzz(func(t *testing.T, data []byte) { differ(t, draw(data)) })
}
