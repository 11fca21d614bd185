package main

import (
	"compress/gzip"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// treeCases are the data sets of the subject trees.
var treeCases = []string{"california", "adult"}

// treeFiles is the folder of the data sets, from the project's root.
const treeFiles = "../shared/data"

// writeTreeCases parses the data sets and writes each as binary files to a folder.
func writeTreeCases(dir string) error {
	for name, read := range map[string]func() (train, test *treeData, err error){"california": readCalifornia, "adult": readAdult} {
		train, test, err := read()
		if err != nil {
			return err
		}
		to := filepath.Join(dir, name)
		info, err := json.Marshal(treeInfo{Rows: train.rows, TestRows: test.rows, Numbers: train.numbers, IDs: train.ids})
		if err == nil {
			err = os.MkdirAll(to, 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, "info.json"), info, 0o644)
		}
		for file, v := range map[string][]float32{"x": train.x, "y": train.y, "x_test": test.x, "y_test": test.y} {
			if err == nil {
				b := make([]byte, 0, 4*len(v))
				for _, f := range v {
					b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
				}
				err = os.WriteFile(filepath.Join(to, file), b, 0o644)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

type treeInfo struct {
	Rows     int   `json:"rows"`
	TestRows int   `json:"test_rows"`
	Numbers  int   `json:"numbers"`
	IDs      []int `json:"ids"`
}

func readTreeCase(dir string) (*treeCase, error) {
	b, err := os.ReadFile(filepath.Join(dir, "info.json"))
	if err != nil {
		return nil, err
	}
	var i treeInfo
	if err := json.Unmarshal(b, &i); err != nil {
		return nil, err
	}
	c := &treeCase{classes: len(i.IDs) > 0, train: &treeData{rows: i.Rows, numbers: i.Numbers, ids: i.IDs},
		test: &treeData{rows: i.TestRows, numbers: i.Numbers, ids: i.IDs}}
	for file, v := range map[string]*[]float32{"x": &c.train.x, "y": &c.train.y, "x_test": &c.test.x, "y_test": &c.test.y} {
		if b, err = os.ReadFile(filepath.Join(dir, file)); err != nil {
			return nil, err
		}
		for ; len(b) >= 4; b = b[4:] {
			*v = append(*v, math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
	}
	return c, nil
}

// readCells reads a compressed file of comma-separated cells; it leaves out rows with another number of cells.
func readCells(name string, cells int) ([][]string, error) {
	f, err := os.Open(filepath.Join(treeFiles, name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	r := csv.NewReader(z)
	r.FieldsPerRecord, r.TrimLeadingSpace = -1, true
	all, err := r.ReadAll()
	return slices.DeleteFunc(all, func(row []string) bool { return len(row) != cells }), err
}

// readCalifornia uses every fifth row for tests.
func readCalifornia() (train, test *treeData, err error) {
	cells, err := readCells("california-housing/cal_housing.data.gz", 9)
	if err != nil {
		return nil, nil, err
	}
	train, test = &treeData{numbers: 8}, &treeData{numbers: 8}
	for i, row := range cells {
		to := train
		if i%5 == 0 {
			to = test
		}
		to.rows++
		for c, cell := range row {
			v, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				return nil, nil, fmt.Errorf("row %d: %w", i, err)
			}
			if c < 8 {
				to.x = append(to.x, float32(v))
			} else {
				to.y = append(to.y, float32(v/1e5))
			}
		}
	}
	return train, test, nil
}

// readAdult puts the numbers before the words. Words become ids, numbered by the training file.
func readAdult() (train, test *treeData, err error) {
	numbers, words := []int{0, 2, 4, 10, 11, 12}, []int{1, 3, 5, 6, 7, 8, 9, 13}
	ids := make([]map[string]int, len(words))
	read := func(name string, learn bool) (*treeData, error) {
		cells, err := readCells(name, 15)
		d := &treeData{rows: len(cells), numbers: len(numbers)}
		for _, row := range cells {
			for _, c := range numbers {
				v, err := strconv.ParseFloat(row[c], 32)
				if err != nil {
					return nil, err
				}
				d.x = append(d.x, float32(v))
			}
			for i, c := range words {
				if ids[i] == nil {
					ids[i] = map[string]int{}
				}
				id, ok := ids[i][row[c]]
				switch {
				case !ok && learn:
					id = len(ids[i])
					ids[i][row[c]] = id
				case !ok:
					id = -1
				}
				d.x = append(d.x, float32(id))
			}
			y := float32(0)
			if strings.HasPrefix(row[14], ">") {
				y = 1
			}
			d.y = append(d.y, y)
		}
		return d, err
	}
	if train, err = read("adult/adult.data.gz", true); err != nil {
		return nil, nil, err
	}
	if test, err = read("adult/adult.test.gz", false); err != nil {
		return nil, nil, err
	}
	for _, m := range ids {
		train.ids = append(train.ids, len(m))
	}
	test.ids = train.ids
	return train, test, nil
}
