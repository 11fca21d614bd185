package splitmix

import "testing"

// TestNumbers compares the first numbers of seed 1234567 with the authors' own program.
func TestNumbers(t *testing.T) {
	s := Source(1234567)
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821} {
		if got := s.Next(); got != want {
			t.Errorf("number %d is %d, want %d", i, got, want)
		}
	}
}

func TestMix(t *testing.T) {
	if got := Mix(1234567); got != 6457827717110365317 {
		t.Errorf("one word: %d", got)
	}
	if Mix(1, 2) == Mix(2, 1) || Mix(1) == Mix(1, 0) {
		t.Error("order or number of the words does not count")
	}
}

func TestIntn(t *testing.T) {
	s := Source(1)
	var count [10]int
	for range 10000 {
		count[s.Intn(10)]++
	}
	for k, n := range count {
		if n < 880 || n > 1120 {
			t.Errorf("%d came %d times of 10000", k, n)
		}
	}
	if got := s.Intn(1); got != 0 {
		t.Errorf("a number in [0, 1): %d", got)
	}
}
