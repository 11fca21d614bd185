package saved

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/tensor"
)

// What a checkpoint has in addition to variables, as scalar strings.
const (
	// PrivatePrefix is the prefix of all these names.
	PrivatePrefix = "goestimator/"
	// SeedKey is the name of the model's seed, decimal.
	SeedKey = PrivatePrefix + "seed"
	// WorkersKey is the name of the number of workers with which an elastic training began, decimal.
	WorkersKey = PrivatePrefix + "elastic_workers"
	// AveragesKey is the name of a comma-separated list of the suffixes of averages' names, in a checkpoint with averages of weights.
	AveragesKey   = PrivatePrefix + "averages"
	inputStateKey = PrivatePrefix + "input_state/"
)

// InputKey is the name of the position of a worker's input.
func InputKey(rank int) string { return inputStateKey + strconv.Itoa(rank) }

// Positions returns the inputs' positions by the ranks of workers.
func Positions(r *checkpoint.Reader) (map[int][]byte, error) {
	positions := map[int][]byte{}
	for _, name := range r.Names() {
		digits, ok := strings.CutPrefix(name, inputStateKey)
		if !ok {
			continue
		}
		rank, err := strconv.Atoi(digits)
		if err != nil {
			return nil, fmt.Errorf("checkpoint %s: tensor %s: expected a worker's rank at the end", r.Prefix(), name)
		}
		if positions[rank], _, err = String(r, name); err != nil {
			return nil, err
		}
	}
	return positions, nil
}

// Workers returns the number of workers with which an elastic training began, 0 for a checkpoint of other training.
func Workers(r *checkpoint.Reader) (int, error) {
	text, ok, err := String(r, WorkersKey)
	if err != nil || !ok {
		return 0, err
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 {
		return 0, fmt.Errorf("checkpoint %s: %s: expected a number of workers, got %q", r.Prefix(), WorkersKey, text)
	}
	return n, nil
}

// String reads a scalar string, false if there is none of that name.
func String(r *checkpoint.Reader, name string) ([]byte, bool, error) {
	if _, ok := r.Lookup(name); !ok {
		return nil, false, nil
	}
	v, err := r.Tensor(name)
	if err != nil {
		return nil, false, err
	}
	if v.DType != tensor.String || len(v.Strings) != 1 {
		return nil, false, fmt.Errorf("checkpoint %s: %s: expected one string, got %v%v", r.Prefix(), name, v.DType, v.Shape)
	}
	return v.Strings[0], true, nil
}
