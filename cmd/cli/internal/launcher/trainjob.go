package launcher

import "io"

// The API of Kubeflow Trainer v2.
const (
	trainerGroup = "trainer.kubeflow.org"
	trainerAPI   = trainerGroup + "/v1alpha1"
)

type trainingRuntime struct {
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Metadata   metadata `yaml:"metadata"`
	Spec       struct {
		Template struct {
			Spec jobSetSpec `yaml:"spec"`
		} `yaml:"template"`
	} `yaml:"spec"`
}

type trainJob struct {
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Metadata   metadata `yaml:"metadata"`
	Spec       struct {
		Runtime runtimeRef `yaml:"runtimeRef"`
	} `yaml:"spec"`
}

type runtimeRef struct {
	Group string `yaml:"apiGroup"`
	Kind  string `yaml:"kind"`
	Name  string `yaml:"name"`
}

// WriteTrainJob writes the manifests of a TrainJob of Kubeflow Trainer v2 and of the TrainingRuntime that it names. The runtime's
// template is the job as a JobSet: the trainer makes a JobSet with the TrainJob's name, like the one of WriteJobSet.
func WriteTrainJob(w io.Writer, k Kubernetes) error {
	spec, err := k.jobSet()
	if err != nil {
		return err
	}
	r := trainingRuntime{APIVersion: trainerAPI, Kind: "TrainingRuntime", Metadata: metadata{k.Name, k.Namespace}}
	r.Spec.Template.Spec = spec
	j := trainJob{APIVersion: trainerAPI, Kind: "TrainJob", Metadata: metadata{k.Name, k.Namespace}}
	j.Spec.Runtime = runtimeRef{trainerGroup, r.Kind, k.Name}
	return k.write(w, r, j)
}
