export interface Bar {
  /** A day in UTC, such as 2026-11-28. */
  day: string;
  value: number;
}

/** Bars by day. The table beside it says the same to those who do not see it. */
export const Chart = ({
  bars,
  label,
  toText,
}: {
  bars: readonly Bar[];
  label: string;
  toText: (value: number) => string;
}) => {
  const most = Math.max(0, ...bars.map(({ value }) => value));
  return (
    <div class="chart" role="img" aria-label={label}>
      <span>{toText(most)}</span>
      <svg viewBox={`0 0 ${bars.length} 100`} preserveAspectRatio="none">
        {bars.map(({ day, value }, index) => {
          const height = most === 0 ? 0 : (value / most) * 100;
          return (
            <rect key={day} x={index + 0.15} width={0.7} y={100 - height} height={height}>
              <title>{`${day}: ${toText(value)}`}</title>
            </rect>
          );
        })}
      </svg>
      <span>{bars[0]?.day}</span> <span>{bars.at(-1)?.day}</span>
    </div>
  );
};
