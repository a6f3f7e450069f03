import { expect, it, onTestFinished } from 'vitest';
import { clientKinds, type ToolResult } from './clients.ts';
import { startGateway } from './start-gateway.ts';

const image = { model: 'imagemodel-1.0', prompt: '[sandbox:slow=6] a tower' };
const film = { ...image, model: 'videomodel-2.0', resolution: '480p', duration: 4 };
const jobIdOf = ({ structuredContent }: ToolResult): string => String(structuredContent?.['id']);

it('a waiting tool tells a client that asked for it that work goes on', async () => {
  const gateway = await startGateway({});
  onTestFinished(() => gateway.close());
  const client = await clientKinds[0]!.connect(`${gateway.url}/mcp`, gateway.apiKey);
  const waited = async (name: string, input: Record<string, unknown>): Promise<void> => {
    const heard: string[] = [];
    const onprogress = ({ message }: { message?: string }) => heard.push(message ?? '');
    const result = await client.callTool(name, input, { onprogress });
    expect(result.structuredContent).toMatchObject({ status: expect.stringMatching(/done|completed/) });
    expect(heard[0]).toContain(jobIdOf(result));
  };
  const queued = await client.callTool('create_image', { ...image, async: true });
  const begun = await client.callTool('create_video', film);
  await Promise.all([
    waited('create_image', image),
    waited('get_job', { job_id: jobIdOf(queued), wait_ms: 45_000 }),
    waited('get_video', { video_id: jobIdOf(begun), wait_ms: 45_000 }),
  ]);
  await client.close();
});
