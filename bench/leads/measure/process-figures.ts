/** What work cost this process, its worker threads included. */
export interface ProcessFigures {
  seconds: number;
  /** User and system together: what a busy machine does not change much. */
  cpuSeconds: number;
  /** The most memory that was resident at any moment since the process began. */
  peakMiB: number;
}

/** Runs `work` and tells what it cost. */
export const withProcessFigures = async <T>(
  work: () => Promise<T>,
): Promise<{ result: T; figures: ProcessFigures }> => {
  const startedMs = performance.now();
  const cpu = process.cpuUsage();
  const result = await work();
  const { user, system } = process.cpuUsage(cpu);
  const figures = {
    seconds: toTenths((performance.now() - startedMs) / 1000),
    cpuSeconds: toTenths((user + system) / 1e6),
    peakMiB: Math.round(process.resourceUsage().maxRSS / 1024),
  };
  return { result, figures };
};

const toTenths = (seconds: number): number => Math.round(seconds * 10) / 10;
