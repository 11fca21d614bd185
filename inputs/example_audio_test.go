package inputs_test

import (
	"encoding/base64"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/goestimator/goestimator/inputs"
)

// A folder for each class, with WAV files of any length.
func ExampleAudioFolder() {
	dir, err := os.MkdirTemp("", "audio")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	sound, err := base64.StdEncoding.DecodeString("UklGRigAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQQAAAAAQAAA") // two samples
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"no/1.wav", "yes/1.wav"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(path, sound, 0o644); err != nil {
			log.Fatal(err)
		}
	}
	ds, err := inputs.AudioFolder(dir, inputs.Audio{Samples: 8000, SampleRate: 8000})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ds.Schema(), ds.Len())
	// Output:
	// audio float32[8000 1] feature, label int64 label 2
}
