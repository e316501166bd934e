module kubectl-velero-slots/old-krew

go 1.26.0

tool sigs.k8s.io/krew/cmd/krew

require (
	github.com/fatih/color v1.7.0 // indirect
	github.com/gogo/protobuf v1.2.1 // indirect
	github.com/google/gofuzz v1.0.0 // indirect
	github.com/inconshreveable/mousetrap v1.0.0 // indirect
	github.com/mattn/go-colorable v0.1.2 // indirect
	github.com/mattn/go-isatty v0.0.8 // indirect
	github.com/pkg/errors v0.8.0 // indirect
	github.com/sahilm/fuzzy v0.0.5 // indirect
	github.com/spf13/cobra v0.0.3 // indirect
	github.com/spf13/pflag v1.0.3 // indirect
	golang.org/x/net v0.0.0-20190628185345-da137c7871d7 // indirect
	golang.org/x/sys v0.0.0-20190712062909-fae7ac547cb7 // indirect
	golang.org/x/text v0.3.2 // indirect
	gopkg.in/inf.v0 v0.9.1 // indirect
	gopkg.in/yaml.v2 v2.2.2 // indirect
	k8s.io/apimachinery v0.0.0-20190717022731-0bb8574e0887 // indirect
	k8s.io/client-go v7.0.0+incompatible // indirect
	k8s.io/klog v1.0.0 // indirect
	sigs.k8s.io/krew v0.3.4 // indirect
	sigs.k8s.io/yaml v1.1.0 // indirect
)
