import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Machine } from '../leads/measure/machine.ts';
import { table } from '../leads/results/table.ts';
import { sectionNames, type SectionName } from './options.ts';
import type { Row } from './row.ts';

/** What one section measured. */
export interface Section {
  rows?: Row[];
  /** Tables without goals. */
  tables?: { title: string; head: string[]; rows: string[][] }[];
  /** Remarks. */
  lines?: string[];
  /** A picture in SVG; its name ends the name of its file. */
  plot?: { name: string; svg: string };
}

const head = ['', 'limit', 'goal', 'measured', 'ratio', ''];
const cellsOf = ({ work, limit, goal, measured, ratio, isMet }: Row): string[] => [
  work,
  limit,
  goal,
  measured,
  ratio,
  isMet ? 'met' : '**missed**',
];

export const renderSection = (name: SectionName, { rows, tables = [], lines = [] }: Section): string =>
  [
    `## ${name}`,
    ...(rows === undefined ? [] : [table(head, rows.map(cellsOf))]),
    ...tables.map(({ title, head, rows }) => `### ${title}\n\n${table(head, rows)}`),
    ...lines,
  ].join('\n\n');

/** Writes NAME.md and NAME-PLOT.svg. */
export const saveResults = async (
  { folder, name }: { folder: string; name: string },
  results: { measured: ReadonlyMap<SectionName, Section>; machine: Machine; note: string },
): Promise<void> => {
  await mkdir(folder, { recursive: true });
  const { measured, note, machine } = results;
  const { model, cores, memoryGiB, system, node, loadAverage } = machine;
  const where = `${model}, ${cores} cores, ${memoryGiB} GiB; ${system}; Node ${node}; load before ${loadAverage}`;
  const parts = [
    '# The gateway: measured',
    'Written by `npm run bench`; [README](../README.md) says how to read it.',
    `${where}; ${new Date().toISOString()}. ${note}`.trim(),
  ];
  for (const section of sectionNames) {
    const found = measured.get(section);
    if (found === undefined) continue;
    parts.push(renderSection(section, found));
    if (found.plot === undefined) continue;
    const file = `${name}-${found.plot.name}.svg`;
    await writeFile(join(folder, file), found.plot.svg);
    parts.push(`![${section}](${file})`);
  }
  await writeFile(join(folder, `${name}.md`), `${parts.join('\n\n')}\n`);
};
