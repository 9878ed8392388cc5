package report

import "fmt"

// noisy is the spread from which on tables warn: on a machine with nothing else to do
// it is below 0.02.
const noisy = 0.05

// formatSpread returns such as "1.3 %".
func formatSpread(s float64) string { return fmt.Sprintf("%.1f %%", 100*s) }

// noiseNote warns below a table of runs whose samples are far apart.
func noiseNote(spreads []float64) string {
	n := 0
	for _, s := range spreads {
		if s > noisy {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("\nNoisy: %d of %d runs have a spread above %.0f %%. Was the machine doing something else? Small differences mean nothing here.\n", n, len(spreads), 100*noisy)
}
