package xspace

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/platform/timeline"
	pb "github.com/wamuir/graft/tensorflow/tsl/profiler/protobuf/for_profiler_protos_go_proto"
)

// hostPlane is the name of the plane in which readers look for the host's events.
const hostPlane = "/host:CPU"

// Of returns the XSpace of a capture. Names of nodes have TensorFlow's form, "dense/MatMul:MatMul", from which the plugin computes the time of
// each op; if a node is several ops in one, "_" joins them.
func Of(c timeline.Capture, host string) *pb.XSpace {
	b := builder{plane: &pb.XPlane{Name: hostPlane, EventMetadata: map[int64]*pb.XEventMetadata{}, StatMetadata: map[int64]*pb.XStatMetadata{}},
		names: map[string]int64{}, stats: map[string]int64{}, start: c.Start}
	byLine := map[timeline.Line][]timeline.Event{}
	for _, e := range c.Events {
		byLine[e.Line] = append(byLine[e.Line], e)
		if e.Start.Before(b.start) {
			b.start = e.Start
		}
	}
	left := c.Dropped
	for _, name := range ordered(byLine) {
		all, more := lanes(name, byLine[name])
		left += more
		for _, l := range all {
			b.add(l)
		}
	}
	s := &pb.XSpace{Planes: []*pb.XPlane{b.plane}, Hostnames: []string{host}}
	if left > 0 {
		s.Warnings = append(s.Warnings, fmt.Sprintf("%d events were left out: there was no room for more than %d", left, len(c.Events)+c.Dropped-left))
	}
	return s
}

// ordered returns the lines, the process's own first, in its order.
func ordered(byLine map[timeline.Line][]timeline.Event) []timeline.Line {
	all := []timeline.Line{timeline.Requests, timeline.Queue, timeline.Batches, timeline.Runs}
	var others []timeline.Line
	for name := range byLine {
		if !slices.Contains(all, name) {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	return append(all, others...)
}

// builder adds lanes to a plane.
type builder struct {
	plane        *pb.XPlane
	names, stats map[string]int64 // their metadata
	start        time.Time        // time 0 for readers: they count picoseconds, which would overflow 64 bits
}

func (b *builder) add(l *lane) {
	line := &pb.XLine{Id: int64(len(b.plane.Lines) + 1), Name: l.name, Events: make([]*pb.XEvent, len(l.events))}
	for i, e := range l.events {
		x := &pb.XEvent{MetadataId: b.name(nameOf(e)), Data: &pb.XEvent_OffsetPs{OffsetPs: picoseconds(e.Start.Sub(b.start))}, DurationPs: picoseconds(e.Duration)}
		for _, s := range e.Stats {
			stat := &pb.XStat{MetadataId: b.stat(s.Name), Value: &pb.XStat_Int64Value{Int64Value: s.Number}}
			if s.Text != "" {
				stat.Value = &pb.XStat_StrValue{StrValue: strings.ToValidUTF8(s.Text, "\uFFFD")}
			}
			x.Stats = append(x.Stats, stat)
		}
		line.Events[i] = x
	}
	b.plane.Lines = append(b.plane.Lines, line)
}

func nameOf(e timeline.Event) string {
	if e.Op == "" {
		return e.Name
	}
	return e.Name + ":" + strings.ReplaceAll(e.Op, "+", "_")
}

// name returns the id of an event's metadata.
func (b *builder) name(name string) int64 {
	name = strings.ToValidUTF8(name, "\uFFFD")
	id, ok := b.names[name]
	if !ok {
		id = int64(len(b.names) + 1)
		b.names[name] = id
		b.plane.EventMetadata[id] = &pb.XEventMetadata{Id: id, Name: name}
	}
	return id
}

// stat returns the id of a stat's metadata.
func (b *builder) stat(name string) int64 {
	id, ok := b.stats[name]
	if !ok {
		id = int64(len(b.stats) + 1)
		b.stats[name] = id
		b.plane.StatMetadata[id] = &pb.XStatMetadata{Id: id, Name: name}
	}
	return id
}

func picoseconds(d time.Duration) int64 { return d.Nanoseconds() * 1000 }
