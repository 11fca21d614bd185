package features

import (
	"fmt"
	"slices"
)

// A Feature is a part of the program that a build tag adds or leaves out.
type Feature struct {
	Name string `json:"name"`
	What string `json:"what"` // it is for
	Tag  string `json:"tag"`  // of go build
	Adds bool   `json:"adds"` // the tag adds the part, which a plain build does not have; else it leaves the part out
	Held bool   `json:"held"` // by this binary
}

var all = []Feature{
	{Name: "s3", What: "models and data in S3 (s3://)", Tag: "nobuckets"},
	{Name: "gcs", What: "models and data in Google Cloud Storage (gs://)", Tag: "gcs", Adds: true},
	{Name: "azure", What: "models and data in Azure Blob Storage (azblob://)", Tag: "azure", Adds: true},
	{Name: "sqlite", What: "data in SQLite files (format: sql)", Tag: "sqlite", Adds: true},
	{Name: "serve", What: "the model server", Tag: "noserve"},
	{Name: "gpu", What: "training and serving on NVIDIA's GPUs", Tag: "nogpu"},
	{Name: "trace", What: "OpenTelemetry's spans of served requests", Tag: "notrace"},
}

// held has the names of what this binary holds. A file for each feature, with its build constraint, puts one in.
var held = map[string]bool{}

// List returns all features, those of plain builds and those that tags add.
func List() []Feature {
	out := slices.Clone(all)
	for i := range out {
		out[i].Held = held[out[i].Name]
	}
	return out
}

// A MissingError tells that something needs a feature that this binary does not hold.
type MissingError struct{ Feature Feature }

// Error says which tag makes a binary that holds the feature.
func (e *MissingError) Error() string {
	f := e.Feature
	if f.Adds {
		return fmt.Sprintf("this binary does not hold %s (%s): build one with go build -tags %s, see goestimator version", f.Name, f.What, f.Tag)
	}
	return fmt.Sprintf("this binary does not hold %s (%s): it was built with -tags %s; build one without, see goestimator version", f.Name, f.What, f.Tag)
}

// Need returns a *MissingError where this binary does not hold a feature. It panics for names that are not in List: they are the program's own.
func Need(name string) error {
	for _, f := range List() {
		if f.Name != name {
			continue
		}
		if !f.Held {
			return &MissingError{f}
		}
		return nil
	}
	panic("features: no feature is called " + name)
}
