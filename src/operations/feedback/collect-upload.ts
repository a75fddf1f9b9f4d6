// Reads a small upload whole. The size of an upload is limited where it is read.

export async function collect(upload: AsyncIterable<Uint8Array> | undefined): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  for await (const chunk of upload ?? []) chunks.push(chunk)
  return Buffer.concat(chunks)
}
