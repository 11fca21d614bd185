package metricslog

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// record is the metrics of one phase and step.
type record struct {
	step   int64
	phase  string
	time   time.Time
	values []Value
}

// form is a file format for records.
type form struct {
	head   string // first line; empty: none
	append func(text []byte, r record) ([]byte, error)
	parse  func(line []byte) (step int64, phase string, err error)
}

var forms = map[string]form{
	"csv":   {"step,phase,time,metric,value\n", appendCSV, parseCSV},
	"jsonl": {"", appendJSON, parseJSON},
}

// appendCSV appends a line for each metric.
func appendCSV(text []byte, r record) ([]byte, error) {
	out := bytes.NewBuffer(text)
	w := csv.NewWriter(out)
	for _, v := range r.values {
		err := w.Write([]string{strconv.FormatInt(r.step, 10), r.phase, r.time.Format(time.RFC3339Nano), v.Name, strconv.FormatFloat(v.Number, 'g', -1, 64)})
		if err != nil {
			return nil, err
		}
	}
	w.Flush()
	return out.Bytes(), w.Error()
}

func parseCSV(line []byte) (int64, string, error) {
	fields, err := csv.NewReader(bytes.NewReader(line)).Read()
	if err != nil {
		return 0, "", err
	}
	if len(fields) != 5 {
		return 0, "", fmt.Errorf("expected 5 fields, got %d", len(fields))
	}
	step, err := strconv.ParseInt(fields[0], 10, 64)
	return step, fields[1], err
}

// lineJSON is a record as a line of JSON.
type lineJSON struct {
	Step    *int64              `json:"step"`
	Phase   string              `json:"phase"`
	Time    time.Time           `json:"time"`
	Metrics map[string]*float64 `json:"metrics"` // null: not finite
}

func appendJSON(text []byte, r record) ([]byte, error) {
	l := lineJSON{&r.step, r.phase, r.time, map[string]*float64{}}
	for _, v := range r.values {
		if l.Metrics[v.Name] = nil; !math.IsNaN(v.Number) && !math.IsInf(v.Number, 0) {
			l.Metrics[v.Name] = &v.Number
		}
	}
	line, err := json.Marshal(l)
	return append(append(text, line...), '\n'), err
}

func parseJSON(line []byte) (int64, string, error) {
	var l lineJSON
	if err := json.Unmarshal(line, &l); err != nil {
		return 0, "", err
	}
	if l.Step == nil {
		return 0, "", errors.New("expected a step")
	}
	return *l.Step, l.Phase, nil
}
