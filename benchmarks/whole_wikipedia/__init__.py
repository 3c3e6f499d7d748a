"""English Wikipedia, stage by stage: made-up exports of real size, runs, rates and a paper."""
