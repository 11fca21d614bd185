package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// given is what all contenders start from.
type given struct {
	list []givenTensor
	raw  []byte
}

type givenTensor struct {
	Name   string `json:"name"`
	Shape  []int  `json:"shape"`
	Offset int    `json:"offset"`
	Data   bool   `json:"data"` // a batch's, not a weight
}

// size is the number of elements.
func (t givenTensor) size() int {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

func readGiven(dir string) (*given, error) {
	b, err := os.ReadFile(filepath.Join(dir, "given.json"))
	if err != nil {
		return nil, err
	}
	var list struct {
		Tensors []givenTensor `json:"tensors"`
	}
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(filepath.Join(dir, "given.bin"))
	return &given{list.Tensors, raw}, err
}

// read returns a tensor's elements, float32 or int64 as the caller knows.
func read[T float32 | int64](g *given, name string) ([]T, givenTensor, error) {
	i := slices.IndexFunc(g.list, func(t givenTensor) bool { return t.Name == name })
	if i < 0 {
		return nil, givenTensor{}, fmt.Errorf("no tensor %s is given", name)
	}
	t := g.list[i]
	v := make([]T, t.size())
	if n := binary.Size(v); t.Offset < 0 || n > len(g.raw)-t.Offset {
		return nil, t, fmt.Errorf("tensor %s: expected %d bytes at %d of given.bin, got %d in all", name, n, t.Offset, len(g.raw))
	}
	_, err := binary.Decode(g.raw[t.Offset:], binary.LittleEndian, v)
	return v, t, err
}
