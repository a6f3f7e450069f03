/**
 * Runs `act` at most once in `intervalMs`; drops and counts the calls between. For log lines that an outage would repeat
 * with every request.
 */
export const throttle = <T>(
  intervalMs: number,
  act: (value: T, leftOut: number) => void,
  nowMs: () => number = () => performance.now(),
): ((value: T) => void) => {
  let lastMs = -Infinity;
  let leftOut = 0;
  return (value) => {
    const now = nowMs();
    if (now - lastMs < intervalMs) {
      leftOut += 1;
      return;
    }
    act(value, leftOut);
    lastMs = now;
    leftOut = 0;
  };
};
