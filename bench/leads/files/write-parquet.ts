import { fileWriter, ParquetWriter } from 'hyparquet-writer';
import type { Lead } from '../../../src/leads/lead-source.ts';
import { leadFields } from '../../../src/leads/lead-fields.ts';

type Schema = ConstructorParameters<typeof ParquetWriter>[0]['schema'];

const profilesPerRowGroup = 50_000;

/** Writes `leads` into `file`, compressed with Snappy; holds one row group in memory. */
export const writeParquet = async (leads: Iterable<Lead>, file: string): Promise<void> => {
  const writer = new ParquetWriter({ writer: fileWriter(file), schema });
  let group: Lead[] = [];
  const writeGroup = async (): Promise<void> => {
    const columnData = leadFields.map((name) => ({
      name,
      data: group.map((lead) => lead[name] ?? null),
    }));
    await writer.write({ columnData, rowGroupSize: profilesPerRowGroup });
    group = [];
  };
  for (const lead of leads) {
    group.push(lead);
    if (group.length === profilesPerRowGroup) await writeGroup();
  }
  if (group.length > 0) await writeGroup();
  await writer.finish();
};

const schema: Schema = [
  { name: 'profiles', num_children: leadFields.length },
  ...leadFields.map((name): Schema[number] => ({ name, repetition_type: 'OPTIONAL', ...typeOf(name) })),
];

function typeOf(column: (typeof leadFields)[number]): Partial<Schema[number]> {
  switch (column) {
    case 'followers':
    case 'following':
    case 'media_count':
      return { type: 'INT32' };
    case 'is_verified':
    case 'is_business':
      return { type: 'BOOLEAN' };
    default:
      return { type: 'BYTE_ARRAY', converted_type: 'UTF8' };
  }
}
