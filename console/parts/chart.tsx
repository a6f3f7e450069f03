import { useEffect, useRef } from 'preact/hooks';
import UPlot from 'uplot';

export interface Bar {
  /** A day in UTC, such as 2026-11-28. */
  day: string;
  value: number;
}

const height = 200;

const colour = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const draw = (place: HTMLElement, bars: readonly Bar[], toText: (value: number) => string): UPlot => {
  const axis = {
    stroke: colour('--soft'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
  };
  return new UPlot(
    {
      width: place.clientWidth,
      height,
      legend: { show: false },
      cursor: { show: false },
      scales: { x: { time: true }, y: { range: (_plot, _least, most) => [0, most > 0 ? most * 1.1 : 1] } },
      tzDate: (seconds) => UPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC'),
      axes: [
        { ...axis, grid: { show: false } },
        { ...axis, size: 70, values: (_plot, values) => values.map(toText) },
      ],
      series: [
        {},
        {
          fill: colour('--get'),
          stroke: colour('--get'),
          paths: UPlot.paths.bars?.({ size: [0.7, 40] }),
          points: { show: false },
        },
      ],
    },
    [
      bars.map(({ day }) => Date.parse(`${day}T00:00:00Z`) / 1_000),
      bars.map(({ value }) => (value === 0 ? null : value)),
    ],
    place,
  );
};

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
  const place = useRef<HTMLDivElement>(null);
  const key = JSON.stringify(bars);
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    let plot = draw(element, bars, toText);
    const again = (): void => {
      plot.destroy();
      plot = draw(element, bars, toText);
    };
    const theme = matchMedia('(prefers-color-scheme: dark)');
    theme.addEventListener('change', again);
    const resized = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    return () => {
      theme.removeEventListener('change', again);
      resized.disconnect();
      plot.destroy();
    };
  }, [key]);
  return <div class="chart" role="img" aria-label={label} ref={place} />;
};
