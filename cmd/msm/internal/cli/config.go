package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/pippin-zk/pippin/internal/trust"
)

// Configurable has a command that runs for long take its flags from the environment and
// from a file as well. What the command line says goes first, then the environment, then
// the file. After SIGHUP the command ends in order and begins again with what they say
// then.
func (a *App) Configurable(c *cobra.Command) {
	file := c.Flags().String("config", "", "YAML file of these flags by name (default $"+variable(c, "config")+")")
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		parent := c.Context()
		for {
			undo, err := a.configure(c, *file)
			if err != nil {
				return usageError{err}
			}
			ctx, again := context.WithCancelCause(parent)
			handle := func() { again(errReload) }
			hangup.Store(&handle)
			c.SetContext(ctx)
			err = run(c, args)
			hangup.Store(nil)
			reload := errors.Is(context.Cause(ctx), errReload) && parent.Err() == nil
			again(nil)
			if !reload || err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, errReload) {
				return err
			}
			undo()
		}
	}
}

// errReload is why a command ends that is to begin again.
var errReload = errors.New("the configuration is read again")

// ConfigName is the annotation of a command with what begins its variables' names.
const ConfigName = "config"

// variable returns the name of the environment variable of a flag.
func variable(c *cobra.Command, flag string) string {
	return "PIPPIN_" + strings.ToUpper(strings.ReplaceAll(c.Annotations[ConfigName]+"_"+flag, "-", "_"))
}

// configure sets the flags that the command line does not, until undo.
func (a *App) configure(c *cobra.Command, file string) (undo func(), err error) {
	if file == "" {
		file = a.Getenv(variable(c, "config"))
	}
	values, err := readConfig(file)
	if err != nil {
		return nil, err
	}
	flags := c.Flags()
	for name := range values {
		if f := flags.Lookup(name); f == nil || name == "config" || name == "help" {
			var names []string
			flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
			return nil, fmt.Errorf("%s: %s has no flag --%s%s", file, c.CommandPath(), name, meant(name, names))
		}
	}
	var wrong []error
	var set []*pflag.Flag
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed || f.Name == "config" || f.Name == "help" {
			return
		}
		where, text := "$"+variable(c, f.Name), a.Getenv(variable(c, f.Name))
		if text == "" {
			var has bool
			if text, has = values[f.Name]; !has {
				return
			}
			where = file
		}
		if err := flags.Set(f.Name, text); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: --%s: %w", where, f.Name, err))
		}
		set = append(set, f)
	})
	return func() {
		for _, f := range set {
			if list, is := f.Value.(pflag.SliceValue); is {
				_ = list.Replace(nil) // the default of all lists here
			} else {
				_ = f.Value.Set(f.DefValue)
			}
			f.Changed = false
		}
	}, errors.Join(wrong...)
}

// readConfig reads a file of flags: texts, numbers, booleans and lists. It refuses a file that
// others can write to, because flags name the programs that are started and who is served.
func readConfig(file string) (map[string]string, error) {
	if file == "" {
		return nil, nil
	}
	text, err := trust.Read(file)
	if err != nil {
		return nil, fmt.Errorf("the configuration: %w", err)
	}
	var values map[string]yaml.Node
	if err := yaml.Unmarshal(text, &values); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	flat := map[string]string{}
	for name, v := range values {
		switch v.Kind {
		case yaml.ScalarNode:
			flat[name] = v.Value
		case yaml.SequenceNode:
			var items []string
			if err := v.Decode(&items); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", file, name, err)
			}
			flat[name] = strings.Join(items, ",")
		default:
			return nil, fmt.Errorf("%s, line %d: %s is neither a value nor a list", file, v.Line, name)
		}
	}
	return flat, nil
}
