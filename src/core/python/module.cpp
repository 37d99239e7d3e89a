// The module: arrays that NumPy owns go in, views and results come out.
#include "python/arrays.hpp"

namespace maxmargin {

NB_MODULE(_core, m) {
  // What lives until Python ends need not be a leak of ours: an object array of a script's own
  // instances keeps all that the script imported alive. Its user can do nothing about that.
  nb::set_leak_warnings(false);
  m.doc() = "The compiled core of maxmargin: epochs and passes on arrays that NumPy owns.";
  bind_data(m);
  bind_objective(m);
  bind_calibration(m);
  bind_certificate(m);
  bind_exact(m);
  bind_classes(m);
  bind_kernels(m);
  bind_linear(m);
  bind_l1(m);
  bind_newton(m);
  bind_stochastic(m);
  bind_smo(m);
  bind_dense_smo(m);
#if defined(MAXMARGIN_FAULTS)
  bind_faults(m);
#endif
}

}  // namespace maxmargin
