// CGBN includes this, and asks in this way whether there is a dim3.
#pragma once
#define __CUDACC__
