package features

import (
	"fmt"
	"slices"
)

// A Feature is a part of the program that a build tag adds or leaves out.
type Feature struct {
	Name string `json:"name"`
	What string `json:"what"` // its purpose
	Tag  string `json:"tag"`  // of go build
	Adds bool   `json:"adds"` // the tag adds the part to a plain build; otherwise it leaves the part out
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

// held has the names of the features in this binary. Each feature has a file with its build constraint that adds its name.
var held = map[string]bool{}

// List returns all features, those of plain builds and optional ones.
func List() []Feature {
	out := slices.Clone(all)
	for i := range out {
		out[i].Held = held[out[i].Name]
	}
	return out
}

// A MissingError reports that a needed feature is not in this binary.
type MissingError struct{ Feature Feature }

// Error names the tag that builds a binary with the feature.
func (e *MissingError) Error() string {
	f := e.Feature
	if f.Adds {
		return fmt.Sprintf("this binary does not hold %s (%s): build one with go build -tags %s, see goestimator version", f.Name, f.What, f.Tag)
	}
	return fmt.Sprintf("this binary does not hold %s (%s): it was built with -tags %s; build one without, see goestimator version", f.Name, f.What, f.Tag)
}

// Need returns a *MissingError if this binary does not hold a feature. It panics for names that are not in List, which are bugs.
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
