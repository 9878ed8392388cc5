package cuda

import "fmt"

func jobError(job int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("job %d: %w", job, err)
}
