package assignment

// AwaitSchedules waits until no schedule is being made.
func AwaitSchedules() {
	schedules.Lock()
	all := make([]*scheduled, 0, len(schedules.of))
	for _, s := range schedules.of {
		all = append(all, s)
	}
	schedules.Unlock()
	for _, s := range all {
		<-s.made
	}
}
