package main

func Example() {
	main()
	// Output: verified: true
}
