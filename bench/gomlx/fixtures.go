package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// fixtures is the common start of all contenders.
type fixtures struct {
	list []fixtureTensor
	raw  []byte
}

type fixtureTensor struct {
	Name   string `json:"name"`
	Shape  []int  `json:"shape"`
	Offset int    `json:"offset"`
	Data   bool   `json:"data"` // a batch, not a weight
}

// size is the number of elements.
func (t fixtureTensor) size() int {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

func readFixtures(dir string) (*fixtures, error) {
	b, err := os.ReadFile(filepath.Join(dir, "fixtures.json"))
	if err != nil {
		return nil, err
	}
	var list struct {
		Tensors []fixtureTensor `json:"tensors"`
	}
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(filepath.Join(dir, "fixtures.bin"))
	return &fixtures{list.Tensors, raw}, err
}

// read returns a tensor's elements; the caller knows whether they are float32 or int64.
func read[T float32 | int64](g *fixtures, name string) ([]T, fixtureTensor, error) {
	i := slices.IndexFunc(g.list, func(t fixtureTensor) bool { return t.Name == name })
	if i < 0 {
		return nil, fixtureTensor{}, fmt.Errorf("no tensor %s is given", name)
	}
	t := g.list[i]
	v := make([]T, t.size())
	if n := binary.Size(v); t.Offset < 0 || n > len(g.raw)-t.Offset {
		return nil, t, fmt.Errorf("tensor %s: expected %d bytes at %d of fixtures.bin, got %d in all", name, n, t.Offset, len(g.raw))
	}
	_, err := binary.Decode(g.raw[t.Offset:], binary.LittleEndian, v)
	return v, t, err
}
