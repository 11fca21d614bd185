package xspace

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/platform/timeline"
	pb "github.com/wamuir/graft/tensorflow/tsl/profiler/protobuf/for_profiler_protos_go_proto"
)

var zero = time.Unix(1_000_000_000, 0)

// at returns an event from one microsecond to another.
func at(line timeline.Line, name string, task uint64, from, to int) timeline.Event {
	return timeline.Event{Line: line, Name: name, Task: task, Start: zero.Add(time.Duration(from) * time.Microsecond), Duration: time.Duration(to-from) * time.Microsecond}
}

// shown returns the names of a space's events by line.
func shown(s *pb.XSpace) map[string][]string {
	all := map[string][]string{}
	for _, p := range s.Planes {
		for _, l := range p.Lines {
			for _, e := range l.Events {
				all[l.Name] = append(all[l.Name], p.EventMetadata[e.MetadataId].Name)
			}
		}
	}
	return all
}

func TestOf(t *testing.T) {
	node := at(timeline.Runs, "dense/MatMul", 1, 20, 30)
	node.Op = "MatMul+BiasAdd"
	batch := at(timeline.Batches, "m", 0, 10, 50)
	batch.Stats = []timeline.Stat{{Name: "rows", Number: 8}, {Name: "code", Text: "a\xffb"}}
	early := at(timeline.Requests, "Predict m", 0, -5, 60)
	s := Of(timeline.Capture{Start: zero, Events: []timeline.Event{node, at(timeline.Runs, "m", 1, 15, 40), batch, early, at("others", "x", 0, 1, 2)}}, "h")
	want := map[string][]string{"requests 1": {"Predict m"}, "batches 1": {"m"}, "runs 1": {"m", "dense/MatMul:MatMul_BiasAdd"}, "others 1": {"x"}}
	got := shown(s)
	for line, names := range want {
		if !slices.Equal(got[line], names) {
			t.Errorf("%s: %v, expected %v", line, got[line], names)
		}
	}
	p := s.Planes[0]
	if len(got) != len(want) || p.Name != "/host:CPU" || !slices.Equal(s.Hostnames, []string{"h"}) || len(s.Warnings) != 0 {
		t.Errorf("space %v", s)
	}
	if p.Lines[0].Name != "requests 1" || p.Lines[0].TimestampNs != 0 || p.Lines[0].Events[0].GetOffsetPs() != 0 || p.Lines[0].Events[0].DurationPs != 65_000_000 {
		t.Errorf("an event that began before the capture: %v", p.Lines[0])
	}
	stats := p.Lines[1].Events[0].Stats
	if len(stats) != 2 || p.StatMetadata[stats[0].MetadataId].Name != "rows" || stats[0].GetInt64Value() != 8 || stats[1].GetStrValue() != "a\uFFFDb" {
		t.Errorf("stats %v", stats)
	}
}

// Overlapping events are on separate lines, unless they are nested in an event of their task.
func TestOverlap(t *testing.T) {
	s := Of(timeline.Capture{Start: zero, Events: []timeline.Event{
		at(timeline.Runs, "run 1", 1, 0, 100), at(timeline.Runs, "node 1", 1, 10, 20), at(timeline.Runs, "parallel 1", 1, 15, 30), at(timeline.Runs, "next 1", 1, 20, 30),
		at(timeline.Runs, "run 2", 2, 5, 90), at(timeline.Runs, "node 2", 2, 6, 7), at(timeline.Runs, "run 3", 3, 100, 110)}}, "h")
	want := map[string][]string{"runs 1": {"run 1", "node 1", "next 1", "run 3"}, "runs 2": {"run 2", "node 2"}, "runs 3": {"parallel 1"}}
	got := shown(s)
	for line, names := range want {
		if !slices.Equal(got[line], names) {
			t.Errorf("%s: %v, expected %v", line, got[line], names)
		}
	}
}

// For any overlaps, no event is lost without being counted, and the events of a line are disjoint or nested.
func TestLanesOfRandomEvents(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		c := timeline.Capture{Start: zero}
		for range r.IntN(400) {
			from := r.IntN(50)
			c.Events = append(c.Events, at(timeline.Runs, "x", uint64(r.IntN(4)), from, from+r.IntN(50)))
		}
		n := 0
		for _, l := range Of(c, "h").Planes[0].Lines {
			var open []int64
			before := int64(0)
			for _, e := range l.Events {
				n++
				begin, end := e.GetOffsetPs(), e.GetOffsetPs()+e.DurationPs
				for len(open) > 0 && open[len(open)-1] <= begin {
					open = open[:len(open)-1]
				}
				if begin < before || len(open) > 0 && end > open[len(open)-1] {
					t.Fatalf("an event from %d to %d on a line where the last began at %d and %v end", begin, end, before, open)
				}
				open, before = append(open, end), begin
			}
		}
		if n != len(c.Events) {
			t.Fatalf("%d of %d events", n, len(c.Events))
		}
	}
}

// The number of lines is bounded, and so are the events of the capture; what is left out is counted.
func TestLeftOut(t *testing.T) {
	c := timeline.Capture{Start: zero, Dropped: 3}
	for range maxLanes + 7 {
		c.Events = append(c.Events, at(timeline.Requests, "x", 0, 0, 10))
	}
	s := Of(c, "h")
	if len(s.Planes[0].Lines) != maxLanes || !slices.Equal(s.Warnings, []string{"10 events were left out: there was no room for more than 256"}) {
		t.Errorf("%d lines, warnings %q", len(s.Planes[0].Lines), s.Warnings)
	}
}
