#pragma once
struct View { float *data; int rows, cols; long stride; };
