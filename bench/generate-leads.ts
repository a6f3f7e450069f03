import { Command, InvalidArgumentError, Option } from 'commander';
import { fileFormats, writeProfiles, type FileFormat } from './leads/files/write-profiles.ts';
import { createProfiles, firstProfiles } from './leads/generate-profiles.ts';

interface Options {
  profiles: string;
  seed: string;
  output: string;
  format?: FileFormat;
}

const wholeNumber = (text: string): string => {
  if (!/^\d{1,8}$/.test(text)) throw new InvalidArgumentError('It is a whole number.');
  return text;
};

const readOptions = (): Options =>
  new Command('bench:leads:generate')
    .description('Writes generated profiles, all of them fictional, into a file that can be imported.')
    .requiredOption('--profiles <number>', 'how many', wholeNumber)
    .requiredOption('--output <file>', 'where they go; replaced when it is there')
    .addOption(new Option('--format <format>', 'by default what the name says').choices(fileFormats))
    .option('--seed <number>', 'another set of profiles', wholeNumber, '1')
    .parse()
    .opts<Options>();

const formatOf = (file: string): FileFormat => {
  const format = fileFormats.find((known) => file.endsWith(`.${known}`));
  if (format === undefined)
    throw new Error(`Say --format: "${file}" ends with none of ${fileFormats.join(', ')}.`);
  return format;
};

try {
  const { profiles, seed, output, format } = readOptions();
  const leads = firstProfiles(createProfiles(Number(seed)), Number(profiles));
  await writeProfiles(leads, { file: output, format: format ?? formatOf(output) });
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
