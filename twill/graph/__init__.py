"""From a kernel to the dependence graph of one of its loops: `twill.graph.build.loop_graph`."""
