import { readdir, readFile } from 'node:fs/promises';

/**
 * Returns user and system time of the threads of a process, in milliseconds. /proc/PID/stat has ended threads too, but
 * counts in hundredths of a second, which is too coarse for a burst of requests.
 */
export const cpuMsOf = async (pid: number): Promise<number> => {
  const threads = await readdir(`/proc/${pid}/task`);
  const times = threads.map(async (thread) => {
    // A thread may end meanwhile.
    const text = await readFile(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').catch(() => '0');
    return Number(text.split(' ')[0]) / 1e6;
  });
  return (await Promise.all(times)).reduce((sum, time) => sum + time, 0);
};

export const residentMiBOf = async (pid: number): Promise<number> => {
  const status = await readFile(`/proc/${pid}/status`, 'latin1');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? Number.NaN) / 1024;
};

/** Returns the processor time of the connections to a database of PostgreSQL on this machine. */
export const postgresCpuMs = async (database: string): Promise<number> => {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const times = pids.map(async (pid) => {
    // A process may end meanwhile.
    const title = await readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '');
    const isOurs = title.startsWith('postgres: ') && title.split(' ').includes(database);
    return isOurs ? cpuMsOf(Number(pid)).catch(() => 0) : 0;
  });
  return (await Promise.all(times)).reduce((sum, time) => sum + time, 0);
};
